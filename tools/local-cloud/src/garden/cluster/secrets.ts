import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Secret } from '../kinds.js';
import type { KubeObject } from '../object.js';
import { type Shoot, type ShootSpec, type Worker, workersOf } from '../shoots/shoot.js';
import { type Held, objectOf } from '../store.js';

/** Namespace of all objects that nodes need from a Shoot. */
export const SYSTEM = 'kube-system';

/** Whether an object is the Secret of a presented token, `id.secret`, and the token is valid. One without an expiration never expires. */
export function admits(object: KubeObject, shown: string, nowMs: number): boolean {
  const { type, data = {} } = object as Secret;
  if (type !== 'bootstrap.kubernetes.io/token') return false;
  const value = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const isExpired = value('expiration') !== '' && Date.parse(value('expiration')) <= nowMs;
  return `${value('token-id')}.${value('token-secret')}` === shown && !isExpired;
}

const AGENT_VERSION = 'v1.150.0';
const AGENT_IMAGE = `europe-docker.pkg.dev/gardener-project/releases/gardener/node-agent:${AGENT_VERSION}`;
const AGENT_HOME = '/var/lib/gardener-node-agent';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Another minor version, image or runtime leads to another Secret. Both exist while machines roll. */
const nameOf = (spec: ShootSpec, worker: Worker): string => {
  const minor = spec.kubernetes.version.split('.').slice(0, 2);
  const { image } = worker.machine;
  const hash = createHash('sha256')
    .update(JSON.stringify([minor, image, worker.cri]))
    .digest('hex');
  return `gardener-node-agent-${worker.name}-${hash.slice(0, 5)}`;
};

/**
 * The configuration Secrets that node agents read, as objects of the cluster: one per worker pool of the last reconciled spec
 * (`pkg/component/extensions/operatingsystemconfig/original/components/nodeagent/secrets.go`).
 */
export function configSecretsOf(held: Held): Record<string, Secret> {
  const { reconciled } = held.simulation;
  if (reconciled === undefined) return {};
  const { spec } = reconciled;
  const { metadata, status } = objectOf<Shoot>(held);
  const server = status.advertisedAddresses?.[0]?.url ?? '';
  const secrets = workersOf(spec).map((worker): Secret => {
    const name = nameOf(spec, worker);
    const agent = {
      apiVersion: 'nodeagent.config.gardener.cloud/v1alpha1',
      kind: 'NodeAgentConfiguration',
      apiServer: { server },
      controllers: {
        operatingSystemConfig: { secretName: name, kubernetesVersion: spec.kubernetes.version },
      },
    };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: SYSTEM,
        uid: `${metadata.uid}/${name}`,
        resourceVersion: '1',
        creationTimestamp: metadata.creationTimestamp ?? '',
        labels: { 'gardener.cloud/role': 'operating-system-config', 'worker.gardener.cloud/pool': worker.name },
      },
      type: 'Opaque',
      data: {
        'osc.yaml': base64(
          stringify({
            apiVersion: 'extensions.gardener.cloud/v1alpha1',
            kind: 'OperatingSystemConfig',
            metadata: { creationTimestamp: null },
            spec: {
              files: [
                {
                  path: `${AGENT_HOME}/config-${AGENT_VERSION}.yaml`,
                  content: { inline: { encoding: 'b64', data: base64(stringify(agent)) } },
                },
                {
                  path: '/opt/bin/gardener-node-agent',
                  content: { imageRef: { image: AGENT_IMAGE, filePathInImage: '/gardener-node-agent' } },
                },
              ],
            },
          }),
        ),
      },
    };
  });
  return Object.fromEntries(secrets.map((secret) => [`/secrets/${SYSTEM}/${secret.metadata.name}`, secret]));
}
