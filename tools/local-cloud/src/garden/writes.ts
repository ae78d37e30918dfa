import { randomUUID } from 'node:crypto';
import { type Clock, timestamp } from '../clock.js';
import { applied, type Manager, ownersAfterUpdate } from './fields.js';
import { apiVersionOf, type Kind, unknownField, type WriteContext } from './kinds/kind.js';
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  internalError,
  invalidObject,
  notFound,
  otherUid,
  StatusError,
} from './kube/errors.js';
import { equalJson, fieldAt, isFields, type KubeObject, withoutNulls } from './kube/object.js';
import { jsonPatch, mergePatch } from './kube/patches.js';
import type { AdmissionRule, GardenSettings } from './settings.js';
import { type ObjectStore, objectOf } from './store.js';

export type Patch =
  | { readonly type: 'merge' | 'json'; readonly body: unknown; readonly isStrict: boolean }
  | { readonly type: 'apply'; readonly body: unknown; readonly force: boolean };

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** Writes objects by the rules of their kinds: owners, defaults, validation (422), admission (403), quota, storage. */
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

  create(kind: Kind, namespace: string, body: KubeObject, fieldManager: string): Written {
    const { name = '' } = body.metadata;
    if (name === '') throw invalidObject(kind, '', 'metadata.name', 'Required value: name is required');
    const object = withoutNulls({ ...body, metadata: { ...body.metadata, ...(kind.namespaced ? { namespace } : {}) } });
    object.metadata.managedFields = ownersAfterUpdate(null, object, this.#manager(fieldManager));
    return this.#store(kind, object, null);
  }

  patch(kind: Kind, namespace: string, name: string, patch: Patch, fieldManager: string): Written {
    if (patch.type === 'apply') return this.#apply(kind, namespace, name, patch, fieldManager);
    const old = this.get(kind, namespace, name);
    const patched = patch.type === 'json' ? jsonPatch(old, patch.body) : mergePatch(old, patch.body);
    if (!isFields(patched) || !isFields(patched.metadata))
      throw badRequest('the patched object is no object with metadata');
    const object = withoutNulls(patched as KubeObject);
    const unknown = patch.isStrict ? unknownField(kind.specFields ?? null, object.spec, 'spec') : null;
    if (unknown !== null) throw new StatusError(422, 'Invalid', `strict decoding error: unknown field "${unknown}"`);
    checkPreconditions(kind, object, old);
    object.metadata.managedFields = ownersAfterUpdate(old, object, this.#manager(fieldManager));
    return this.#store(kind, object, old);
  }

  /** @returns the object if it waits for finalizers; null if it is deleted */
  remove(kind: Kind, namespace: string, name: string, uid?: string): KubeObject | null {
    const object = this.get(kind, namespace, name);
    const { metadata } = object;
    if (uid !== undefined && uid !== metadata.uid) throw otherUid(kind, name, uid, metadata.uid);
    kind.judgeDeletion?.(object);
    if ((metadata.finalizers ?? []).length === 0) {
      this.store.remove(kind.plural, namespace, name);
      return null;
    }
    if (metadata.deletionTimestamp !== undefined) return object;
    const leaving = { ...object, metadata: { ...metadata, deletionTimestamp: timestamp(this.clock.now()) } };
    kind.prepare?.(leaving, object, this.#context());
    this.store.put(kind.plural, leaving);
    return leaving;
  }

  #apply(kind: Kind, namespace: string, name: string, patch: Patch & { type: 'apply' }, fieldManager: string): Written {
    const held = this.store.get(kind.plural, namespace, name);
    const old = held && objectOf(held);
    const declared = this.#readDeclared(kind, patch.body, namespace, name);
    if (old !== null) checkPreconditions(kind, declared, old);
    else if (declared.metadata.uid !== undefined) {
      const why = `uid mismatch: the provided object specified uid ${declared.metadata.uid}, and no existing object was found`;
      throw conflict(kind, name, why);
    }
    return this.#store(kind, applied(old, declared, this.#manager(fieldManager), patch.force), old);
  }

  /** @throws StatusError 400; 500 for a field that the garden does not know, as a real one answers */
  #readDeclared(kind: Kind, body: unknown, namespace: string, name: string): KubeObject {
    if (!isFields(body) || body.kind !== kind.kind || body.apiVersion !== apiVersionOf(kind)) {
      throw badRequest(`the body is no ${kind.kind} of ${apiVersionOf(kind)}`);
    }
    const object = withoutNulls(body as KubeObject);
    const tooNew = this.settings().undeclaredFields.find((path) => fieldAt(object, ...path.split('.')) !== undefined);
    const unknown = unknownField(kind.specFields ?? null, object.spec, 'spec') ?? tooNew;
    if (unknown !== undefined) {
      const what = `${namespace}/${name}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
      throw new StatusError(
        500,
        '',
        `failed to create typed patch object (${what}): .${unknown}: field not declared in schema`,
      );
    }
    return { ...object, metadata: { ...object.metadata, name, ...(kind.namespaced ? { namespace } : {}) } };
  }

  #store(kind: Kind, object: KubeObject, old: KubeObject | null): Written {
    const { namespace = '', name = '' } = object.metadata;
    if (old === null && kind.namespaced && this.store.get('namespaces', '', namespace) === null) {
      throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    }
    keepServerFields(object, old, timestamp(this.clock.now()));
    kind.prepare?.(object, old, this.#context());
    kind.judge?.(object, old, this.#context());
    this.#judgeByRules(kind, object);
    if (old === null) this.#checkQuota(kind, namespace, name);
    if (old === null && this.store.get(kind.plural, namespace, name) !== null) throw alreadyExists(kind, name);
    if (old !== null && equalJson(timeless(object), timeless(old))) return { object: old, created: false };
    this.store.put(kind.plural, object);
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.store.remove(kind.plural, namespace, name);
    return { object, created: old === null };
  }

  /** The quota comes last, so that refused objects do not count. @throws StatusError 403 */
  #checkQuota(kind: Kind, namespace: string, name: string): void {
    const { shootsMax, secretsMax } = this.settings();
    const max = { shoots: shootsMax, secrets: secretsMax }[kind.plural] ?? null;
    const used = this.store.list(kind.plural).filter((held) => held.namespace === namespace).length;
    if (max === null || used < max) return;
    const counted = `count/${kind.plural}${kind.group === '' ? '' : `.${kind.group}`}`;
    const why = `exceeded quota: gardener, requested: ${counted}=1, used: ${counted}=${used}, limited: ${counted}=${max}`;
    throw forbidden(kind, name, why);
  }

  /** What operators have put in the way. The first rule that is in the way decides. @throws StatusError */
  #judgeByRules(kind: Kind, object: KubeObject): void {
    const rule = this.settings().admission.find(
      ({ namespace, when = '' }) =>
        kind.plural === 'shoots' &&
        (namespace === undefined || namespace === object.metadata.namespace) &&
        new RegExp(when).test(JSON.stringify(object.spec ?? {})),
    );
    if (rule !== undefined) throw refusalOf(rule, kind, object.metadata.name ?? '');
  }

  #context(): WriteContext {
    return {
      nowMs: this.clock.now(),
      find: <T extends KubeObject>(plural: string, namespace: string, name: string) => {
        const held = this.store.get(plural, namespace, name);
        return held && objectOf<T>(held);
      },
    };
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
    delete metadata.resourceVersion;
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

function refusalOf({ name, kind, message }: AdmissionRule, resource: Kind, object: string): StatusError {
  if (kind === 'dead webhook') {
    const address = `https://${name}.example.org:443/validate?timeout=10s`;
    return internalError(
      `failed calling webhook "${name}": failed to call webhook: Post "${address}": dial tcp 192.0.2.1:443: connect: connection refused`,
    );
  }
  const why = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${message ?? 'failed expression: false'}`;
  const { message: whole, details } = forbidden(resource, object, why);
  return new StatusError(422, 'Invalid', whole, { ...details, causes: [{ message: why }] });
}
