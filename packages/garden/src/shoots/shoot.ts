import { isObject, type JsonObject } from '@corral/contracts';
import { objectIn, objectsIn, textIn, textMapIn, textsIn, wholeIn } from '../calls/json.js';

/** The metadata in use. Times are RFC 3339 texts of the garden's clock. */
interface ObjectMeta {
  name: string;
  namespace: string;
  uid: string;
  /** opaque: only compare for equality */
  resourceVersion: string;
  generation: number;
  creationTimestamp: string | null;
  deletionTimestamp: string | null;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  finalizers: string[];
}

/** A Shoot as the garden stores it, reduced to the fields in use. No member is undefined. */
export interface Shoot {
  metadata: ObjectMeta;
  /** the owners of its fields */
  managers: FieldManager[];
  /** unchanged, including defaults and fields of other owners */
  spec: JsonObject;
  status: ShootStatus;
}

export interface ShootStatus {
  /** generation whose reconciliation has begun (not ended); 0 before the first */
  observedGeneration: number;
  technicalID: string | null;
  uid: string | null;
  seedName: string | null;
  clusterIdentity: string | null;
  /** the reconciled state; `spec.hibernation.enabled` is the desired one */
  hibernated: boolean;
  lastOperation: LastOperation | null;
  /** stay during the next attempt and are removed only on success */
  lastErrors: LastError[];
  conditions: ShootCondition[];
  constraints: ShootCondition[];
  advertisedAddresses: { name: string; url: string }[];
  /** result of the last maintenance; null before the first */
  lastMaintenance: { triggeredTime: string | null; state: string } | null;
  /** rotation of the certificate authorities; null before the first */
  authorityRotation: { phase: string; initiatedAt: string | null; completedAt: string | null } | null;
  retryCycleStartTime: string | null;
  migrationStartTime: string | null;
}

interface LastOperation {
  /** `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`, … */
  type: string;
  /** `Pending`, `Processing`, `Succeeded`, `Error`, `Failed`, `Aborted` */
  state: string;
  /** percent of this attempt, 0 to 100; falls when a new attempt begins */
  progress: number;
  /** free text of the provider, not fit for tenants */
  description: string;
  lastUpdateTime: string | null;
}

export interface LastError {
  taskID: string | null;
  /** e.g. `ERR_INFRA_QUOTA_EXCEEDED`; often empty */
  codes: string[];
  /** free text of the provider, not fit for tenants */
  description: string;
  lastUpdateTime: string | null;
}

export interface ShootCondition {
  type: string;
  /** `True`, `False`, `Unknown`, `Progressing` */
  status: string;
  reason: string;
  message: string;
  codes: string[];
  lastTransitionTime: string | null;
  lastUpdateTime: string | null;
}

/**
 * Parses a Shoot. Unknown fields are ignored.
 *
 * @returns null when metadata that every stored object has is missing: the body is broken
 */
export function parseShoot(value: unknown): Shoot | null {
  const metadata = parseMetadata(value);
  if (metadata === null) return null;
  return {
    metadata,
    managers: parseManagers(objectIn(value, 'metadata')),
    spec: objectIn(value, 'spec'),
    status: parseShootStatus(objectIn(value, 'status')),
  };
}

/** @returns null when name, namespace, uid or resource version is missing */
function parseMetadata(value: unknown): ObjectMeta | null {
  const meta = isObject(value) ? objectIn(value, 'metadata') : {};
  const name = textIn(meta, 'name');
  const namespace = textIn(meta, 'namespace');
  const uid = textIn(meta, 'uid');
  const resourceVersion = textIn(meta, 'resourceVersion');
  if (name === null || namespace === null || uid === null || resourceVersion === null) return null;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation: wholeIn(meta, 'generation') ?? 0,
    creationTimestamp: textIn(meta, 'creationTimestamp'),
    deletionTimestamp: textIn(meta, 'deletionTimestamp'),
    labels: textMapIn(meta, 'labels'),
    annotations: textMapIn(meta, 'annotations'),
    finalizers: textsIn(meta, 'finalizers'),
  };
}

function parseShootStatus(status: JsonObject): ShootStatus {
  return {
    observedGeneration: wholeIn(status, 'observedGeneration') ?? 0,
    technicalID: textIn(status, 'technicalID'),
    uid: textIn(status, 'uid'),
    seedName: textIn(status, 'seedName'),
    clusterIdentity: textIn(status, 'clusterIdentity'),
    hibernated: status.hibernated === true,
    lastOperation: isObject(status.lastOperation) ? parseLastOperation(status.lastOperation) : null,
    lastErrors: objectsIn(status, 'lastErrors').map(parseLastError),
    conditions: objectsIn(status, 'conditions').map(parseCondition),
    constraints: objectsIn(status, 'constraints').map(parseCondition),
    advertisedAddresses: objectsIn(status, 'advertisedAddresses').map((address) => ({
      name: textIn(address, 'name') ?? '',
      url: textIn(address, 'url') ?? '',
    })),
    lastMaintenance: isObject(status.lastMaintenance)
      ? {
          triggeredTime: textIn(status.lastMaintenance, 'triggeredTime'),
          state: textIn(status.lastMaintenance, 'state') ?? '',
        }
      : null,
    authorityRotation: parseRotation(objectIn(objectIn(status, 'credentials'), 'rotation').certificateAuthorities),
    retryCycleStartTime: textIn(status, 'retryCycleStartTime'),
    migrationStartTime: textIn(status, 'migrationStartTime'),
  };
}

function parseRotation(rotation: unknown): ShootStatus['authorityRotation'] {
  if (!isObject(rotation)) return null;
  return {
    phase: textIn(rotation, 'phase') ?? '',
    initiatedAt: textIn(rotation, 'lastInitiationTime'),
    completedAt: textIn(rotation, 'lastCompletionTime'),
  };
}

function parseLastOperation(operation: JsonObject): LastOperation {
  return {
    type: textIn(operation, 'type') ?? '',
    state: textIn(operation, 'state') ?? '',
    progress: wholeIn(operation, 'progress') ?? 0,
    description: textIn(operation, 'description') ?? '',
    lastUpdateTime: textIn(operation, 'lastUpdateTime'),
  };
}

function parseLastError(error: JsonObject): LastError {
  return {
    taskID: textIn(error, 'taskID'),
    codes: textsIn(error, 'codes'),
    description: textIn(error, 'description') ?? '',
    lastUpdateTime: textIn(error, 'lastUpdateTime'),
  };
}

function parseCondition(condition: JsonObject): ShootCondition {
  return {
    type: textIn(condition, 'type') ?? '',
    status: textIn(condition, 'status') ?? 'Unknown',
    reason: textIn(condition, 'reason') ?? '',
    message: textIn(condition, 'message') ?? '',
    codes: textsIn(condition, 'codes'),
    lastTransitionTime: textIn(condition, 'lastTransitionTime'),
    lastUpdateTime: textIn(condition, 'lastUpdateTime'),
  };
}

/** An owner of fields, an entry of `managedFields` (kubernetes.io/docs/reference/using-api/server-side-apply). */
export interface FieldManager {
  readonly manager: string;
  readonly operation: string;
  /** when it last changed one of its fields: RFC 3339, by the garden's clock, to the second */
  readonly time: string | null;
  /** a tree of parts such as `f:spec` and `k:{"name":"p1"}`; nodes that are `{}` or have `.` are owned */
  readonly fields: JsonObject;
}

/** The default field manager of this client. */
export const defaultFieldManager = 'corral';
/** The API server assigns unowned fields to this manager at the first apply. */
export const beforeFirstApply = 'before-first-apply';

export function parseManagers(metadata: JsonObject): FieldManager[] {
  return objectsIn(metadata, 'managedFields').map((entry) => ({
    manager: textIn(entry, 'manager') ?? 'unknown',
    operation: textIn(entry, 'operation') ?? '',
    time: textIn(entry, 'time'),
    fields: objectIn(entry, 'fieldsV1'),
  }));
}

/** Whether `managedFields` lists our applies. After a restore from a backup it may not. */
export function isAppliedBy(managers: readonly FieldManager[], name: string = defaultFieldManager): boolean {
  return managers.some(({ manager, operation }) => manager === name && operation === 'Apply');
}

/**
 * Finds the other owners of a field or of parts of it, latest first.
 *
 * @param path in the form of a conflict, e.g. `.spec.provider.workers[name="p1"].maximum`
 */
export function otherManagersOf(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): FieldManager[] {
  const parts = ownedPathOf(path);
  return managers
    .filter(({ manager, fields }) => manager !== us && manager !== beforeFirstApply && owns(fields, parts))
    .sort((one, other) => (other.time ?? '').localeCompare(one.time ?? ''));
}

/** Whether omitting the field from our next apply removes it: no other manager owns a part, and our applies are known. */
export function isRemovable(
  managers: readonly FieldManager[],
  path: string,
  us: string = defaultFieldManager,
): boolean {
  const parts = ownedPathOf(path);
  return isAppliedBy(managers, us) && !managers.some(({ manager, fields }) => manager !== us && owns(fields, parts));
}

function owns(fields: JsonObject, [part, ...rest]: readonly string[]): boolean {
  if (part === undefined) return true;
  const below = fields[part];
  if (!isObject(below)) return false;
  // A leaf is owned with everything in it.
  return Object.keys(below).length === 0 || owns(below, rest);
}

/** A part into an object, or to a named item of a list. */
export type FieldPathPart = string | { readonly name: string };

/**
 * Parses the path of a conflict, e.g. `.spec.provider.workers[name="p1"].maximum`. Names of labels and annotations
 * contain dots; they are always the last part.
 */
export function fieldPathParts(path: string): FieldPathPart[] {
  const [, before = path, key] = /^(.*\.(?:labels|annotations))\.(.+)$/.exec(path) ?? [];
  const parts = [...before.matchAll(/\.([^.[\]]+)|\[name="([^"]*)"\]/g)].map(([, field, name]) =>
    field === undefined ? { name: name ?? '' } : field,
  );
  return key === undefined ? parts : [...parts, key];
}

const ownedPathOf = (path: string): string[] =>
  fieldPathParts(path).map((part) => (typeof part === 'string' ? `f:${part}` : `k:${JSON.stringify(part)}`));
