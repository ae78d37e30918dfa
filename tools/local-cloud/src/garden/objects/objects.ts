import { type Clock, timestamp } from '../../clock.js';
import { applyConfiguration, type FieldContext, updatedManagedFields } from '../fields/managed-fields.js';
import type { GardenSettings } from '../garden-settings.js';
import { type AdmissionContext, apiVersionOf, type Kind } from '../kinds/kind.js';
import { isFields, type KubeObject, mergePatch, withoutNulls } from '../kube/object.js';
import { alreadyExists, badRequest, forbidden, invalidObject, notFound, StatusError } from '../kube/status-error.js';
import { judgeByRules } from './admission-rules.js';
import { objectOf } from './held.js';
import { keepServerFields, nameNew, validateMeta } from './metadata.js';
import type { ObjectStore } from './object-store.js';
import type { Patch, Preconditions, WriteOptions } from './preconditions.js';
import { checkNew, checkPreconditions, checkSameUid, checkUnmodified, isSame } from './preconditions.js';
import { readApplied, readPatched } from './read-changes.js';

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

export interface ObjectsDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly settings: () => Pick<
    GardenSettings,
    'shootsMax' | 'secretsMax' | 'undeclaredFields' | 'admission' | 'extensionFields'
  >;
}

/**
 * Writes objects by the rules of their kinds, in the order of a Kubernetes API server: defaults, field ownership,
 * mutating admission, preparation, validation (422), validating admission (403), storage.
 */
export class Objects {
  constructor(private readonly deps: ObjectsDeps) {}

  find<T extends KubeObject>(kind: Kind, namespace: string, name: string): T | null {
    const held = this.deps.store.get(kind.plural, namespace, name);
    return held && objectOf<T>(held);
  }

  /** @throws StatusError 404 */
  get<T extends KubeObject>(kind: Kind, namespace: string, name: string): T {
    const found = this.find<T>(kind, namespace, name);
    if (found === null) throw notFound(kind, name);
    return found;
  }

  create(kind: Kind, namespace: string, body: KubeObject, options: WriteOptions): Written {
    const object = withoutNulls(body);
    if (object.metadata.resourceVersion !== undefined) {
      throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
    }
    kind.setDefaults?.(object);
    nameNew(kind, object, namespace);
    object.metadata.managedFields = updatedManagedFields(null, object, managerOf(options), this.#fields(kind, options));
    return this.#store(kind, object, null, options);
  }

  /** Replaces an object. Only controllers do. */
  update(kind: Kind, namespace: string, name: string, body: KubeObject, options: WriteOptions): Written {
    const old = this.get(kind, namespace, name);
    const object = withoutNulls(body);
    kind.setDefaults?.(object);
    return this.#replace(kind, object, old, options);
  }

  patch(kind: Kind, namespace: string, name: string, patch: Patch, options: WriteOptions): Written {
    if (patch.type === 'apply') return this.#apply(kind, namespace, name, patch, options);
    const old = this.get(kind, namespace, name);
    if (!isFields(patch.body)) throw badRequest('error decoding patch: the body is no object');
    const patched = readPatched(kind, mergePatch(old, patch.body), name);
    kind.setDefaults?.(patched);
    checkSameUid(kind, patched, old);
    return this.#replace(kind, patched, old, options);
  }

  /** @returns the object if it waits for finalizers; null if it is deleted */
  remove(
    kind: Kind,
    namespace: string,
    name: string,
    { user, preconditions = {} }: { user: string; preconditions?: Preconditions },
  ): KubeObject | null {
    const object = this.get(kind, namespace, name);
    checkPreconditions(kind, object, preconditions);
    kind.judgeDeletion?.(object);
    judgeByRules(this.deps.settings().admission, kind, object, 'DELETE');
    const waits = (object.metadata.finalizers ?? []).length > 0;
    if (waits && object.metadata.deletionTimestamp !== undefined) return object;
    if (!waits) {
      this.deps.store.remove(kind.plural, namespace, name);
      return null;
    }
    const deletionTimestamp = timestamp(this.deps.clock.now());
    const leaving = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 },
    };
    kind.prepare?.(leaving, object, this.#context({ user, subresource: '' }));
    this.deps.store.put(kind.plural, leaving);
    return leaving;
  }

  #apply(
    kind: Kind,
    namespace: string,
    name: string,
    patch: Patch & { type: 'apply' },
    options: WriteOptions,
  ): Written {
    const old = this.find(kind, namespace, name);
    const body = readApplied(kind, patch.body, namespace, name, this.deps.settings().undeclaredFields);
    if (old === null) checkNew(kind, body);
    else {
      checkSameUid(kind, body, old);
      checkUnmodified(kind, body, old);
    }
    const context = this.#fields(kind, options);
    const merged = applyConfiguration(old, body, managerOf(options), patch.force, context);
    const object = withoutNulls(merged);
    kind.setDefaults?.(object);
    if (old !== null) return this.#store(kind, object, old, options);
    nameNew(kind, object, namespace);
    return this.#store(kind, object, null, options);
  }

  #replace(kind: Kind, object: KubeObject, old: KubeObject, options: WriteOptions): Written {
    checkUnmodified(kind, object, old);
    object.metadata.managedFields = updatedManagedFields(old, object, managerOf(options), this.#fields(kind, options));
    return this.#store(kind, object, old, options);
  }

  #store(kind: Kind, object: KubeObject, old: KubeObject | null, options: WriteOptions): Written {
    const { metadata } = object;
    const { namespace = '', name = '' } = metadata;
    const context = this.#context(options);
    if (old === null) this.#checkNamespace(kind, namespace);
    if (metadata.managedFields?.length === 0) delete metadata.managedFields;
    keepServerFields(object, old, this.deps.clock.now());
    kind.admit?.(object, old, context);
    kind.prepare?.(object, old, context);
    const errors = [...validateMeta(kind, object, old), ...(kind.validate?.(object, old, context) ?? [])];
    if (errors.length > 0) throw invalidObject(kind, name, errors);
    kind.judge?.(object, old, context);
    judgeByRules(this.deps.settings().admission, kind, object, old === null ? 'CREATE' : 'UPDATE');
    if (old === null) this.#checkQuota(kind, namespace, name);
    if (old === null && this.deps.store.get(kind.plural, namespace, name) !== null) throw alreadyExists(kind, name);
    if (old !== null && isSame(object, old)) return { object: old, created: false };
    if (options.dryRun !== true) this.#commit(kind, object);
    return { object, created: old === null };
  }

  /** Stores the object, or deletes it if it was marked for deletion and has no finalizers left. */
  #commit(kind: Kind, object: KubeObject): void {
    const { deletionTimestamp, finalizers = [], namespace = '', name = '' } = object.metadata;
    this.deps.store.put(kind.plural, object);
    if (deletionTimestamp !== undefined && finalizers.length === 0) {
      this.deps.store.remove(kind.plural, namespace, name);
    }
  }

  /** The quota is the last step of admission, so that refused objects do not count. */
  #checkQuota(kind: Kind, namespace: string, name: string): void {
    const { shootsMax, secretsMax } = this.deps.settings();
    const max = { shoots: shootsMax, secrets: secretsMax }[kind.plural] ?? null;
    if (max === null) return;
    const used = [...this.deps.store.list(kind.plural)].filter((held) => held.namespace === namespace).length;
    if (used < max) return;
    const counted = `count/${kind.plural}${kind.group === '' ? '' : `.${kind.group}`}`;
    const why = `exceeded quota: gardener, requested: ${counted}=1, used: ${counted}=${used}, limited: ${counted}=${max}`;
    throw forbidden(kind, name, why);
  }

  #checkNamespace(kind: Kind, namespace: string): void {
    if (!kind.namespaced) return;
    if (this.deps.store.get('namespaces', '', namespace) !== null) return;
    throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
  }

  #context({ user, subresource }: Pick<WriteOptions, 'user' | 'subresource'>): AdmissionContext {
    const { store, clock } = this.deps;
    return {
      user,
      subresource,
      nowMs: clock.now(),
      extensionFields: this.deps.settings().extensionFields,
      find: <T extends KubeObject>(plural: string, namespace: string, name: string) => {
        const held = store.get(plural, namespace, name);
        return held && objectOf<T>(held);
      },
    };
  }

  #fields(kind: Kind, { subresource }: WriteOptions): FieldContext {
    const resetFields = subresource === 'status' ? [['f:spec']] : [['f:status']];
    return { schema: kind.schema, apiVersion: apiVersionOf(kind), nowMs: this.deps.clock.now(), resetFields };
  }
}

const managerOf = ({ fieldManager, subresource }: WriteOptions) => ({ name: fieldManager, subresource });
