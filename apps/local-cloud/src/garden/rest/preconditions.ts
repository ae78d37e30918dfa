import type { Kind } from '../kinds/kind.js';
import { immutable } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { conflict, invalidObject, modifiedMeanwhile, type ResourceName } from '../kube/status-error.js';
import type { DeleteOptions } from './write-options.js';

/** @throws StatusError 409 */
export function checkPreconditions(
  kind: ResourceName,
  { metadata }: KubeObject,
  preconditions: DeleteOptions['preconditions'],
): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const { name = '' } = metadata;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(kind, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`);
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      kind,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
  }
}

/** Compares what the body of a write says of its object with the object. @throws StatusError 409 */
export function checkUnmodified(kind: Kind, { metadata }: KubeObject, old: KubeObject): void {
  const { resourceVersion, uid } = metadata;
  checkPreconditions(kind, old, uid === undefined ? {} : { uid });
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    throw modifiedMeanwhile(kind, old.metadata.name ?? '');
  }
}

/**
 * A patch that carries another uid would change a field that cannot change, where a PUT states a precondition.
 *
 * @throws StatusError 422
 */
export function checkSameUid(kind: ResourceName, { metadata }: KubeObject, old: KubeObject): void {
  const { uid } = metadata;
  if (uid === undefined || uid === old.metadata.uid) return;
  throw invalidObject(kind, old.metadata.name ?? '', [immutable('metadata.uid', uid)]);
}

/** What an apply patch of an object that is not there must not say of it. @throws StatusError 409 */
export function checkNew(kind: Kind, { metadata }: KubeObject): void {
  const { name = '', uid, resourceVersion } = metadata;
  if (uid !== undefined) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(kind, name, why);
  }
  if (resourceVersion !== undefined) throw modifiedMeanwhile(kind, name);
}

/** Equal but for the times in `managedFields`: such a write changes nothing, not even the version. */
export function isSame(a: KubeObject, b: KubeObject): boolean {
  const timeless = (object: KubeObject) => ({
    ...object,
    metadata: {
      ...object.metadata,
      managedFields: object.metadata.managedFields?.map((entry) => ({ ...entry, time: undefined })),
    },
  });
  return equalJson(timeless(a), timeless(b));
}
