import type { Kind } from '../kinds/kind.js';
import { immutable } from '../kube/field-error.js';
import { equalJson, type KubeObject } from '../kube/object.js';
import { conflict, invalidObject, modifiedMeanwhile, type ResourceName } from '../kube/status-error.js';

/** Options of a write. */
export interface WriteOptions {
  /** Name of the caller. */
  readonly user: string;
  readonly fieldManager: string;
  /** Empty for the main resource. */
  readonly subresource: '' | 'status' | 'binding';
  /** Admits and answers the write but does not store it. Default false. */
  readonly dryRun?: boolean;
}

export interface Preconditions {
  readonly uid?: string;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'apply'; readonly body: unknown; readonly force: boolean };

/** @throws StatusError 409 */
export function checkPreconditions(kind: ResourceName, { metadata }: KubeObject, { uid }: Preconditions): void {
  if (uid === undefined || uid === metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw conflict(kind, metadata.name ?? '', why);
}

/** Compares version and uid in the body of a write with those of the object. @throws StatusError 409 */
export function checkUnmodified(kind: Kind, { metadata }: KubeObject, old: KubeObject): void {
  const { resourceVersion, uid } = metadata;
  checkPreconditions(kind, old, uid === undefined ? {} : { uid });
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    throw modifiedMeanwhile(kind, old.metadata.name ?? '');
  }
}

/**
 * A patch with another uid tries to change an immutable field. In a PUT, the uid is a precondition.
 *
 * @throws StatusError 422
 */
export function checkSameUid(kind: ResourceName, { metadata }: KubeObject, old: KubeObject): void {
  const { uid } = metadata;
  if (uid === undefined || uid === old.metadata.uid) return;
  throw invalidObject(kind, old.metadata.name ?? '', [immutable('metadata.uid', uid)]);
}

/** Refuses fields that an apply patch must not contain if it creates the object. @throws StatusError 409 */
export function checkNew(kind: Kind, { metadata }: KubeObject): void {
  const { name = '', uid, resourceVersion } = metadata;
  if (uid !== undefined) {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(kind, name, why);
  }
  if (resourceVersion !== undefined) throw modifiedMeanwhile(kind, name);
}

/** Whether objects are equal apart from times in `managedFields`. Such a write does not change the version. */
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
