import { randomUUID } from 'node:crypto';
import { type Clock, timestamp } from '../clock.js';
import {
  badRequest,
  conflict,
  forbidden,
  internalError,
  invalidObject,
  notFound,
  otherUid,
  StatusError,
} from './errors.js';
import { applied, type Manager, ownersAfterUpdate } from './fields.js';
import {
  apiVersionOf,
  type CredentialsBinding,
  credentialsBindings,
  type Kind,
  namespaces,
  projects,
  secrets,
  shoots,
} from './kinds.js';
import { equalJson, isFields, type KubeObject, withoutNulls } from './object.js';
import { jsonPatch, mergePatch } from './patches.js';
import { judgeBinding, judgeProject, projectOf } from './rules.js';
import type { AdmissionRule, GardenSettings } from './settings.js';
import { type Catalogue, judgeDeletion, judgeShoot, prepareShoot, unknownFieldOf } from './shoots/rules.js';
import type { Shoot } from './shoots/shoot.js';
import { type ObjectStore, objectOf } from './store.js';

export type Patch =
  | { readonly type: 'merge' | 'json'; readonly body: unknown; readonly isStrict: boolean }
  | { readonly type: 'apply'; readonly body: unknown; readonly force: boolean };

/** Writes objects by the rules of the garden: owners, defaults, validation (422), admission (403), quota, storage. */
export class Writes {
  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly settings: () => GardenSettings,
  ) {}

  /** @throws StatusError 404 */
  get<T extends KubeObject>(kind: Kind, namespace: string, name: string): T {
    const held = this.store.get(kind.plural, namespace, name);
    if (held === null) throw notFound(kind, name);
    return objectOf<T>(held);
  }

  create(kind: Kind, object: KubeObject, fieldManager: string): KubeObject {
    const managedFields = ownersAfterUpdate(null, object, this.#manager(fieldManager));
    return this.#store(kind, { ...object, metadata: { ...object.metadata, managedFields } }, null);
  }

  patch(kind: Kind, namespace: string, name: string, patch: Patch, fieldManager: string): KubeObject {
    if (patch.type === 'apply') return this.#apply(kind, namespace, name, patch, fieldManager);
    const old = this.get(kind, namespace, name);
    const patched = patch.type === 'json' ? jsonPatch(old, patch.body) : mergePatch(old, patch.body);
    if (!isFields(patched) || !isFields(patched.metadata))
      throw badRequest('the patched object is no object with metadata');
    const object = withoutNulls(patched as KubeObject);
    const unknown = patch.isStrict ? unknownFieldOf(object) : null;
    if (unknown !== null) throw new StatusError(422, 'Invalid', `strict decoding error: unknown field "${unknown}"`);
    checkPreconditions(kind, object, old);
    object.metadata.managedFields = ownersAfterUpdate(old, object, this.#manager(fieldManager));
    return this.#store(kind, object, old);
  }

  /** @returns the object; with a time of deletion if it waits for finalizers */
  remove(kind: Kind, namespace: string, name: string, uid?: unknown): KubeObject {
    const object = this.get(kind, namespace, name);
    const { metadata } = object;
    if (uid !== undefined && uid !== metadata.uid) throw otherUid(kind, name, uid, metadata.uid);
    if (kind === shoots) judgeDeletion(object);
    if ((metadata.finalizers ?? []).length === 0) {
      this.store.remove(kind.plural, namespace, name);
      return object;
    }
    if (metadata.deletionTimestamp !== undefined) return object;
    const deletionTimestamp = timestamp(this.clock.now());
    const generation = kind === shoots ? { generation: (metadata.generation ?? 1) + 1 } : {};
    const leaving = { ...object, metadata: { ...metadata, deletionTimestamp, ...generation } };
    return this.store.put(kind.plural, leaving).object;
  }

  #apply(
    kind: Kind,
    namespace: string,
    name: string,
    { body, force }: Patch & { type: 'apply' },
    fieldManager: string,
  ): KubeObject {
    const old = this.store.get(kind.plural, namespace, name)?.object ?? null;
    if (!isFields(body) || body.kind !== kind.kind || body.apiVersion !== apiVersionOf(kind)) {
      throw badRequest(`the body is no ${kind.kind} of ${apiVersionOf(kind)}`);
    }
    const read = withoutNulls(body as KubeObject);
    const unknown = unknownFieldOf(read);
    if (unknown !== null) {
      const what = `${namespace}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
      const why = `failed to create typed patch object (${what}): .${unknown}: field not declared in schema`;
      throw new StatusError(500, '', why);
    }
    const place = kind.namespaced ? { name, namespace } : { name };
    const declared = { ...read, metadata: { ...read.metadata, ...place } };
    if (old !== null) checkPreconditions(kind, declared, old);
    else if (declared.metadata.uid !== undefined) {
      const why = `uid mismatch: the provided object specified uid ${declared.metadata.uid}, and no existing object was found`;
      throw conflict(kind, name, why);
    }
    return this.#store(kind, applied(old, declared, this.#manager(fieldManager), force), old);
  }

  #store(kind: Kind, next: KubeObject, old: KubeObject | null): KubeObject {
    // A copy: parts of it are those of the stored object, and rules fill in what is missing.
    const object = structuredClone(next);
    const { namespace = '', name = '' } = object.metadata;
    if (old === null && kind.namespaced && this.store.get('namespaces', '', namespace) === null) {
      throw notFound(namespaces, namespace);
    }
    keepServerFields(object, old, timestamp(this.clock.now()));
    if (kind === projects) judgeProject(object);
    if (kind === credentialsBindings)
      judgeBinding(object as CredentialsBinding, old as CredentialsBinding | null, this.store);
    if (kind === shoots) this.#judge(object as Shoot, old as Shoot | null);
    if (kind === secrets && old === null) this.#checkQuota(namespace, name);
    if (old !== null && equalJson(timeless(object), timeless(old))) return old;
    const held = this.store.put(kind.plural, object);
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.store.remove(kind.plural, namespace, name);
    return held.object;
  }

  /** @throws StatusError 403, 422, 500 */
  #judge(shoot: Shoot, old: Shoot | null): void {
    const { namespace = '', name = '' } = shoot.metadata;
    const profile = this.store.get('cloudprofiles', '', shoot.spec.cloudProfile?.name ?? '');
    // As Gardener answers.
    if (profile === null) throw internalError('could not find referenced cloud profile');
    const catalogue: Catalogue = {
      profile: objectOf(profile),
      project: projectOf(this.store, namespace),
      nowMs: this.clock.now(),
    };
    prepareShoot(shoot, old, catalogue);
    judgeShoot(shoot, old, catalogue);
    const isInTheWay = (rule: AdmissionRule): boolean =>
      (rule.namespace ?? namespace) === namespace && new RegExp(rule.when ?? '').test(JSON.stringify(shoot.spec));
    const obstacle = this.settings().admission.find(isInTheWay);
    if (obstacle !== undefined) throw refusalOf(obstacle, name);
  }

  /** @throws StatusError 403 */
  #checkQuota(namespace: string, name: string): void {
    const max = this.settings().secretsMax;
    const used = this.store.list('secrets').filter((held) => held.namespace === namespace).length;
    if (max === null || used < max) return;
    const counts = `requested: count/secrets=1, used: count/secrets=${used}, limited: count/secrets=${max}`;
    throw forbidden(secrets, name, `exceeded quota: gardener, ${counts}`);
  }

  #manager = (name: string): Manager => ({ name, at: timestamp(this.clock.now()) });
}

/** Compares version and uid in a patch with those of the object. @throws StatusError 409, 422 */
function checkPreconditions(kind: Kind, { metadata: { uid, resourceVersion } }: KubeObject, old: KubeObject): void {
  const { name = '' } = old.metadata;
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

/** The object without the times of its managers: a write that changes nothing else makes no new version. */
const timeless = (object: KubeObject) => ({
  ...object,
  metadata: {
    ...object.metadata,
    managedFields: object.metadata.managedFields?.map((entry) => ({ ...entry, time: '' })),
  },
});

function refusalOf({ name, kind, message }: AdmissionRule, shoot: string): StatusError {
  if (kind === 'dead webhook') {
    const why = `Post "https://${name}:443/validate?timeout=10s": dial tcp 192.0.2.1:443: connect: connection refused`;
    return internalError(`failed calling webhook "${name}": failed to call webhook: ${why}`);
  }
  const why = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${message}`;
  const { message: whole, details } = forbidden(shoots, shoot, why);
  return new StatusError(422, 'Invalid', whole, { ...details, causes: [{ message: why }] });
}
