import { forbidden, invalidObject } from './errors.js';
import { type CredentialsBinding, credentialsBindings, type Project, projects } from './kinds.js';
import { equalJson } from './object.js';
import type { ObjectStore } from './store.js';

/** The name of the Project that a namespace belongs to. */
export const projectOf = (store: ObjectStore, namespace: string): string =>
  store.get('namespaces', '', namespace)?.labels['project.gardener.cloud/name'] ?? namespace;

const PROJECT_NAME_MAX = 10;

/** @throws StatusError 422 */
export function judgeProject({ metadata: { name = '' } }: Project): void {
  if (name.length <= PROJECT_NAME_MAX) return;
  const why = `Invalid value: must not exceed ${PROJECT_NAME_MAX} characters`;
  throw invalidObject(projects, name, 'metadata.name', why);
}

/** @throws StatusError 403, 422 */
export function judgeBinding(
  { metadata: { name: own = '' }, credentialsRef }: CredentialsBinding,
  old: CredentialsBinding | null,
  store: ObjectStore,
): void {
  const { namespace = '', name = '' } = credentialsRef;
  if (old !== null && !equalJson(credentialsRef, old.credentialsRef))
    throw invalidObject(credentialsBindings, own, 'credentialsRef', 'Invalid value: field is immutable');
  if (store.get('secrets', namespace, name) === null)
    throw forbidden(credentialsBindings, own, `secrets ${JSON.stringify(name)} not found`);
}
