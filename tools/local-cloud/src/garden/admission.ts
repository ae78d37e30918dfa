import type { Clock } from '../clock.js';
import { forbidden, internalError, invalidObject, StatusError } from '../kube/errors.js';
import { cloudProfiles, credentialsBindings, namespaces, projects, secrets, shoots } from '../kube/kinds.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { inGarden, type ObjectStore } from '../kube/store.js';
import type { Rule } from '../kube/writes.js';
import type { CredentialsBinding } from './objects.js';
import type { AdmissionRule, GardenSettings } from './settings.js';
import { type Catalogue, judgeDeletion, judgeShoot, prepareShoot, unknownFieldOf } from './shoots/rules.js';
import type { Shoot } from './shoots/shoot.js';

/** The rules of the garden for its kinds: defaults, validation (422), admission (403), a quota. By their plurals. */
export function gardenRules(
  store: ObjectStore,
  clock: Clock,
  settings: GardenSettings,
): Readonly<Record<string, Rule>> {
  return {
    [projects.plural]: { admit: ({ metadata: { name = '' } }) => judgeProjectName(name) },
    [credentialsBindings.plural]: {
      admit: (object, old) => judgeBinding(object as CredentialsBinding, old as CredentialsBinding | null, store),
    },
    [secrets.plural]: {
      admit(object, old) {
        if (old === null) checkQuota(store, object, settings.secretsMax);
      },
    },
    [shoots.plural]: {
      unknownField: unknownFieldOf,
      judgeDeletion,
      admit(object, old) {
        admitShoot(object as Shoot, old as Shoot | null, store, clock.now());
        const obstacle = settings.admission.find((rule) => isInTheWay(rule, object));
        if (obstacle !== undefined) throw refusalOf(obstacle, object.metadata.name ?? '');
      },
    },
  };
}

/** The name of the Project that a namespace belongs to. */
export const projectOf = (store: ObjectStore, namespace: string): string =>
  store.find(inGarden(namespaces, '', namespace))?.labels['project.gardener.cloud/name'] ?? namespace;

const PROJECT_NAME_MAX = 10;

/** @throws StatusError 422 */
function judgeProjectName(name: string): void {
  if (name.length <= PROJECT_NAME_MAX) return;
  const why = `Invalid value: must not exceed ${PROJECT_NAME_MAX} characters`;
  throw invalidObject(projects, name, 'metadata.name', why);
}

/** @throws StatusError 403, 422 */
function judgeBinding(
  { metadata: { name: own = '' }, credentialsRef }: CredentialsBinding,
  old: CredentialsBinding | null,
  store: ObjectStore,
): void {
  const { namespace = '', name = '' } = credentialsRef;
  if (old !== null && !equalJson(credentialsRef, old.credentialsRef))
    throw invalidObject(credentialsBindings, own, 'credentialsRef', 'Invalid value: field is immutable');
  if (store.find(inGarden(secrets, namespace, name)) === null)
    throw forbidden(credentialsBindings, own, `secrets ${JSON.stringify(name)} not found`);
}

/** @throws StatusError 403 */
function checkQuota(store: ObjectStore, { metadata }: KubeObject, max: number | null): void {
  const { namespace = '', name = '' } = metadata;
  const used = store.list(secrets).filter((held) => held.namespace === namespace).length;
  if (max === null || used < max) return;
  const counts = `requested: count/secrets=1, used: count/secrets=${used}, limited: count/secrets=${max}`;
  throw forbidden(secrets, name, `exceeded quota: gardener, ${counts}`);
}

/** @throws StatusError 403, 422, 500 */
function admitShoot(shoot: Shoot, old: Shoot | null, store: ObjectStore, nowMs: number): void {
  const profile = store.find(inGarden(cloudProfiles, '', shoot.spec.cloudProfile?.name ?? ''));
  // As Gardener answers.
  if (profile === null) throw internalError('could not find referenced cloud profile');
  const project = projectOf(store, shoot.metadata.namespace ?? '');
  const catalogue: Catalogue = { profile: profile.object, project, nowMs };
  prepareShoot(shoot, old, catalogue);
  judgeShoot(shoot, old, catalogue);
}

const isInTheWay = (rule: AdmissionRule, { metadata: { namespace }, spec }: KubeObject): boolean =>
  (rule.namespace ?? namespace) === namespace && new RegExp(rule.when ?? '').test(JSON.stringify(spec));

function refusalOf({ name, kind, message }: AdmissionRule, shoot: string): StatusError {
  if (kind === 'dead webhook') {
    const why = `Post "https://${name}:443/validate?timeout=10s": dial tcp 192.0.2.1:443: connect: connection refused`;
    return internalError(`failed calling webhook "${name}": failed to call webhook: ${why}`);
  }
  const why = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${message}`;
  const { message: whole, details } = forbidden(shoots, shoot, why);
  return new StatusError(422, whole, { ...details, causes: [{ message: why }] });
}
