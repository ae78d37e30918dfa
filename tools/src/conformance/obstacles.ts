import { waitFor } from '@corral/testing';
import { aShoot, shootPath, worker } from './probe.js';
import { type Caller, call, must } from './rest.js';
import type { Obstacle } from './target.js';

/** Name of a policy, and of a webhook, which needs a domain. */
export const OBSTACLE = 'conformance.example.org';
export const POLICY_MESSAGE = 'At most 8 nodes. Ask platform@example.org.';
export const expiredImage = { name: 'ubuntu', version: '24.4.0' } as const;
export const raisedImage = { name: 'ubuntu', version: '24.4.1' } as const;
export const machineWith = (image: object) => ({ type: 'cpx31', image });

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const POLICIES = `${GROUP}/validatingadmissionpolicies`;
const BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;
const WEBHOOKS = `${GROUP}/validatingwebhookconfigurations`;
const shootRules = [
  { apiGroups: ['core.gardener.cloud'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['shoots'] },
];
const has = (of: string): string =>
  `${of}.name == w.name && has(${of}.machine.image) && ${of}.machine.image.version == '${expiredImage.version}'`;

/** The rules of Gardener's catalogue are none of an API server with definitions of its kinds: a policy plays them. */
const validations: Readonly<Record<Exclude<Obstacle, 'dead webhook'>, { expression: string; message: string }>> = {
  policy: { expression: 'object.spec.provider.workers.all(w, w.maximum < 9)', message: POLICY_MESSAGE },
  'expired image': {
    expression: `object.spec.provider.workers.all(w, !(${has('w')}) || (oldObject != null && oldObject.spec.provider.workers.exists(o, ${has('o')})))`,
    message: `spec.provider.workers[0].machine.image.version: Unsupported value: "${expiredImage.version}": supported values: "ubuntu:${raisedImage.version}"`,
  },
};

/** Puts one obstacle, or none, in the way on a real API server. Resolves once it is in force. */
export async function obstruct(admin: Caller, namespace: string, obstacle: Obstacle | null): Promise<void> {
  for (const collection of [BINDINGS, POLICIES, WEBHOOKS]) await call(admin, 'DELETE', `${collection}/${OBSTACLE}`);
  await untilAnswered(admin, namespace, true);
  if (obstacle === null) return;
  const metadata = { name: OBSTACLE };
  const selector = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } };
  if (obstacle === 'dead webhook') {
    const webhook = {
      name: OBSTACLE,
      clientConfig: { url: 'https://127.0.0.1:1/validate' },
      rules: shootRules,
      failurePolicy: 'Fail',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      timeoutSeconds: 2,
      ...selector,
    };
    await must(admin, 'POST', WEBHOOKS, { ...ofKind('ValidatingWebhookConfiguration'), metadata, webhooks: [webhook] });
  } else {
    const spec = { matchConstraints: { resourceRules: shootRules }, validations: [validations[obstacle]] };
    await must(admin, 'POST', POLICIES, { ...ofKind('ValidatingAdmissionPolicy'), metadata, spec });
    const bound = { policyName: OBSTACLE, validationActions: ['Deny'], matchResources: selector };
    await must(admin, 'POST', BINDINGS, { ...ofKind('ValidatingAdmissionPolicyBinding'), metadata, spec: bound });
  }
  await untilAnswered(admin, namespace, false);
}

const ofKind = (kind: string) => ({ apiVersion: 'admissionregistration.k8s.io/v1', kind });

/** An API server learns of what it is to obey after a moment. A Shoot that every obstacle refuses shows it. */
async function untilAnswered(admin: Caller, namespace: string, isAccepted: boolean): Promise<void> {
  const pool = worker({ maximum: 9, machine: machineWith(expiredImage) });
  const shoot = { apiVersion: 'core.gardener.cloud/v1beta1', kind: 'Shoot', ...aShoot(namespace, 'looks', [pool]) };
  const path = shootPath(namespace, 'looks').replace(/\/looks$/, '?dryRun=All');
  await waitFor(`Shoots to be ${isAccepted ? 'accepted' : 'refused'}`, async () => {
    const { status, text } = await call(admin, 'POST', path, shoot);
    if ((status === 201) !== isAccepted) throw new Error(`${status} ${text}`);
    return true;
  });
}
