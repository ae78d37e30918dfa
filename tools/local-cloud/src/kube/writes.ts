import { randomUUID } from 'node:crypto';
import { type Clock, timestamp } from '../clock.js';
import { alreadyExists, badRequest, conflict, invalidObject, notFound, StatusError } from './errors.js';
import { applied, type Manager, ownersAfterUpdate } from './fields.js';
import { apiVersionOf, namespaces } from './kinds.js';
import { equalJson, isFields, type KubeObject, withoutNulls } from './object.js';
import { jsonPatch, mergePatch } from './patches.js';
import { GARDEN, inGarden, type ObjectStore, type Ref } from './store.js';

export type Patch =
  | { readonly type: 'merge' | 'json'; readonly body: unknown; readonly isStrict: boolean }
  | { readonly type: 'apply'; readonly body: unknown; readonly force: boolean };

/** What a kind has beyond the rules of all objects. */
export interface Rule {
  /** The path of a field that is not known; null if all are. */
  unknownField?(object: KubeObject): string | null;
  /** Fills in what is missing. @throws StatusError of what is refused */
  admit?(object: KubeObject, old: KubeObject | null): void;
  /** @throws StatusError 403 */
  judgeDeletion?(object: KubeObject): void;
}

/** Writes objects by the rules of every Kubernetes API, and those of their kinds: owners, preconditions, finalizers, storage. */
export class Writes {
  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly ruleOf: (ref: Ref) => Rule,
  ) {}

  /** @throws StatusError 409 */
  create(ref: Ref, object: KubeObject, fieldManager: string): KubeObject {
    if (this.store.find(ref) !== null) throw alreadyExists(ref.kind, ref.name);
    const made = placed(ref, object);
    made.metadata.managedFields = ownersAfterUpdate(null, made, this.#manager(fieldManager));
    return this.#store(ref, made, null);
  }

  patch(ref: Ref, patch: Patch, fieldManager: string): KubeObject {
    if (patch.type === 'apply') return this.#apply(ref, patch, fieldManager);
    const old = this.store.get(ref).object;
    const patched = patch.type === 'json' ? jsonPatch(old, patch.body) : mergePatch(old, patch.body);
    if (!isFields(patched) || !isFields(patched.metadata))
      throw badRequest('the patched object is no object with metadata');
    const object = withoutNulls(patched as KubeObject);
    const unknown = patch.isStrict ? this.ruleOf(ref).unknownField?.(object) : undefined;
    if (typeof unknown === 'string') throw new StatusError(422, `strict decoding error: unknown field "${unknown}"`);
    checkPreconditions(ref, object, old);
    object.metadata.managedFields = ownersAfterUpdate(old, object, this.#manager(fieldManager));
    return this.#store(ref, object, old);
  }

  /** @returns the object; with a time of deletion if it waits for finalizers */
  remove(ref: Ref, uid?: unknown): KubeObject {
    const { object } = this.store.get(ref);
    const { metadata } = object;
    if (uid !== undefined && uid !== metadata.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
      throw conflict(ref.kind, ref.name, why);
    }
    this.ruleOf(ref).judgeDeletion?.(object);
    if ((metadata.finalizers ?? []).length === 0) {
      this.store.remove(ref);
      return object;
    }
    if (metadata.deletionTimestamp !== undefined) return object;
    const deletionTimestamp = timestamp(this.clock.now());
    const generation = metadata.generation === undefined ? {} : { generation: metadata.generation + 1 };
    return this.store.put(ref, { ...object, metadata: { ...metadata, deletionTimestamp, ...generation } }).object;
  }

  #apply(ref: Ref, { body, force }: Patch & { type: 'apply' }, fieldManager: string): KubeObject {
    const { kind, namespace, name } = ref;
    if (!isFields(body) || body.apiVersion !== apiVersionOf(kind))
      throw badRequest(`the body is no ${kind.kind} of ${apiVersionOf(kind)}`);
    const { status: _, ...read } = withoutNulls(body as KubeObject);
    const declared = placed(ref, read as KubeObject);
    const unknown = this.ruleOf(ref).unknownField?.(declared);
    if (typeof unknown === 'string') {
      const what = `${namespace}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
      const why = `failed to create typed patch object (${what}): .${unknown}: field not declared in schema`;
      throw new StatusError(500, why, {}, '');
    }
    const old = this.store.find(ref)?.object ?? null;
    if (old !== null) checkPreconditions(ref, declared, old);
    else if (declared.metadata.uid !== undefined) {
      const why = `uid mismatch: the provided object specified uid ${declared.metadata.uid}, and no existing object was found`;
      throw conflict(kind, name, why);
    }
    return this.#store(ref, applied(old, declared, this.#manager(fieldManager), force), old);
  }

  #store(ref: Ref, next: KubeObject, old: KubeObject | null): KubeObject {
    // A copy: parts of it are those of the stored object, and rules fill in what is missing.
    const object = structuredClone(next);
    // The clusters of Shoots take objects of every namespace.
    const needsNamespace = old === null && ref.kind.namespaced && ref.cluster === GARDEN;
    if (needsNamespace && this.store.find(inGarden(namespaces, '', ref.namespace)) === null)
      throw notFound(namespaces, ref.namespace);
    keepServerFields(object, old, timestamp(this.clock.now()));
    this.ruleOf(ref).admit?.(object, old);
    if (old !== null && equalJson(object, old)) return old;
    const held = this.store.put(ref, object);
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.store.remove(ref);
    return held.object;
  }

  #manager = (name: string): Manager => ({ name, at: timestamp(this.clock.now()) });
}

/** An object with the name and the namespace of its path. */
const placed = ({ kind, namespace, name }: Ref, object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, name, ...(kind.namespaced ? { namespace } : {}) },
});

/** Compares version and uid in a patch with those of the object. @throws StatusError 409, 422 */
function checkPreconditions(
  { kind, name }: Ref,
  { metadata: { uid, resourceVersion } }: KubeObject,
  old: KubeObject,
): void {
  if (uid !== undefined && uid !== old.metadata.uid) {
    throw invalidObject(kind, name, 'metadata.uid', `Invalid value: ${JSON.stringify(uid)}: field is immutable`);
  }
  if (resourceVersion === undefined || resourceVersion === old.metadata.resourceVersion) return;
  const why = 'the object has been modified; please apply your changes to the latest version and try again';
  throw conflict(kind, name, why);
}

/** Overwrites the fields that only the server sets. */
function keepServerFields({ metadata }: KubeObject, old: KubeObject | null, now: string): void {
  if (old === null) {
    Object.assign(metadata, { uid: randomUUID(), creationTimestamp: now });
    return;
  }
  const { uid, creationTimestamp, deletionTimestamp, generation, namespace, name, resourceVersion } = old.metadata;
  Object.assign(metadata, { uid, creationTimestamp, deletionTimestamp, generation, namespace, name, resourceVersion });
}
