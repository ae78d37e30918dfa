import { timestamp } from '../../clock.js';
import { equalJson, type KubeObject, type ManagedFieldsEntry } from '../kube/object.js';
import { StatusError } from '../kube/status-error.js';
import {
  difference,
  emptySet,
  type FieldSet,
  fromFieldsV1,
  intersection,
  isEmpty,
  pathsOf,
  toFieldsV1,
  union,
  without,
} from './field-set.js';
import type { FieldType } from './schema.js';
import { compare, fieldsOf, merge, removeFields, withNamedFields } from './typed-value.js';

export interface Manager {
  /** At most 128 characters. */
  readonly name: string;
  /** Empty for the main resource. */
  readonly subresource: string;
}

export interface FieldContext {
  readonly schema: FieldType;
  readonly apiVersion: string;
  readonly nowMs: number;
  /** Fields that this kind of write can neither change nor own, as paths of steps. */
  readonly resetFields: readonly (readonly string[])[];
}

/** Server-side fields that have no owner. */
const unowned = [
  ['f:apiVersion'],
  ['f:kind'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ].map((field) => ['f:metadata', `f:${field}`]),
];

type Share = Omit<ManagedFieldsEntry, 'fieldsV1' | 'fieldsType'> & { set: FieldSet };

const toShare = ({ fieldsV1, fieldsType: _, ...share }: ManagedFieldsEntry): Share => ({
  ...share,
  set: fromFieldsV1(fieldsV1),
});

const sharesOf = (object: KubeObject): Share[] => (object.metadata.managedFields ?? []).map(toShare);

const toEntry = ({ set, ...share }: Share): ManagedFieldsEntry => ({
  ...share,
  fieldsType: 'FieldsV1',
  fieldsV1: toFieldsV1(set),
});

const entriesOf = (shares: readonly Share[]): ManagedFieldsEntry[] =>
  inOrder(shares.filter(({ set }) => !isEmpty(set)).map(toEntry));

const inOrder = (entries: ManagedFieldsEntry[]): ManagedFieldsEntry[] =>
  entries.sort(
    (a, b) =>
      compareText(a.operation, b.operation) ||
      compareText(a.time ?? '', b.time ?? '') ||
      compareText(a.manager, b.manager) ||
      compareText(a.subresource ?? '', b.subresource ?? ''),
  );

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isShareOf =
  ({ name, subresource }: Manager, operation: 'Apply' | 'Update', apiVersion: string) =>
  (share: Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): boolean =>
    share.manager === name &&
    share.operation === operation &&
    (share.subresource ?? '') === subresource &&
    (operation === 'Apply' || share.apiVersion === apiVersion);

/** The object without unowned fields. */
const owned = (object: KubeObject): unknown => ({
  ...object,
  metadata: { ...object.metadata, managedFields: undefined },
});

/** If an object has no ownership records, the first apply assigns its fields to the manager `before-first-apply`. */
function sharesBeforeApply(live: KubeObject, context: FieldContext): Share[] {
  const shares = sharesOf(live);
  if (shares.length > 0) return shares;
  const set = without(fieldsOf(context.schema, owned(live)), ...unowned, ...context.resetFields);
  return [newShare({ name: 'before-first-apply', subresource: '' }, 'Update', set, context)];
}

function newShare(manager: Manager, operation: 'Apply' | 'Update', set: FieldSet, context: FieldContext): Share {
  return {
    manager: manager.name,
    operation,
    apiVersion: context.apiVersion,
    time: timestamp(context.nowMs),
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
    set,
  };
}

/**
 * Updates ownership after a write other than an apply: the writer owns every field that it changed.
 *
 * @param live null for a create
 * @returns `managedFields` of the new object
 */
export function updatedManagedFields(
  live: KubeObject | null,
  next: KubeObject,
  manager: Manager,
  context: FieldContext,
): ManagedFieldsEntry[] {
  const before = live ?? { apiVersion: '', kind: '', metadata: {}, spec: {}, status: {} };
  const { added, modified, removed } = compare(context.schema, owned(before), owned(next));
  const changed = without(union(added, modified), ...unowned, ...context.resetFields);
  const lost = union(changed, removed);
  const mine = isShareOf(manager, 'Update', context.apiVersion);
  const entries = live?.metadata.managedFields ?? [];
  const kept = entries.filter((entry) => !mine(entry)).flatMap((entry) => withoutFields(entry, lost));
  const own = entries.find(mine);
  if (own !== undefined && isEmpty(lost)) return inOrder([...kept, own]);
  const set = union(difference(own === undefined ? emptySet : fromFieldsV1(own.fieldsV1), removed), changed);
  return inOrder([...kept, ...(isEmpty(set) ? [] : [toEntry(newShare(manager, 'Update', set, context))])]);
}

/** Skips entries that cannot overlap: most writes touch one part of an object. */
function withoutFields(entry: ManagedFieldsEntry, lost: FieldSet): ManagedFieldsEntry[] {
  if (!Object.keys(entry.fieldsV1).some((step) => lost.children.has(step))) return [entry];
  const set = difference(fromFieldsV1(entry.fieldsV1), lost);
  return isEmpty(set) ? [] : [{ ...entry, fieldsV1: toFieldsV1(set) }];
}

/**
 * Merges an applied configuration into the live object by the rules of server-side apply.
 *
 * @param live null if the object does not exist
 * @returns the merged object with its `managedFields`, before defaulting
 * @throws StatusError 409 with one cause per conflicting field that another manager owns, unless forced
 */
export function applyConfiguration(
  live: KubeObject | null,
  applied: KubeObject,
  manager: Manager,
  force: boolean,
  context: FieldContext,
): KubeObject {
  const { schema, apiVersion } = context;
  const before = live ?? { apiVersion: applied.apiVersion, kind: applied.kind, metadata: {} };
  const reset = removeFields(schema, applied, onlyPaths(context.resetFields)) as KubeObject;
  const mine = isShareOf(manager, 'Apply', apiVersion);
  const shares = live === null ? [] : sharesBeforeApply(live, context);
  const last = shares.find(mine)?.set ?? emptySet;
  const set = without(fieldsOf(schema, reset), ...unowned);

  const merged = merge(schema, owned(before), reset);
  const managed = shares.filter((share) => !mine(share)).reduce((all, share) => union(all, share.set), set);
  const given = withNamedFields(schema, last);
  const dropped = difference(given, withNamedFields(schema, managed));
  const pruned = removeFields(schema, merged, dropped) as KubeObject;

  const { added, modified, removed } = compare(schema, owned(before), owned(pruned));
  const changed = union(added, modified);
  const others = shares.filter((share) => !mine(share));
  const conflicts = others
    .map((share) => ({ share, fields: intersection(share.set, changed) }))
    .filter(({ fields }) => !isEmpty(fields));
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  const kept = others.map((share) => ({ ...share, set: difference(difference(share.set, changed), removed) }));

  const previous = shares.find(mine);
  const same = previous !== undefined && equalJson(toFieldsV1(previous.set), toFieldsV1(set));
  const own = same && isEmpty(changed) && isEmpty(removed) ? previous : newShare(manager, 'Apply', set, context);
  const metadata = { ...pruned.metadata, managedFields: entriesOf([...kept, own]) };
  return { ...pruned, metadata };
}

/** The set with exactly these paths as members. */
function onlyPaths(paths: readonly (readonly string[])[]): FieldSet {
  const build = ([step, ...rest]: readonly string[]): FieldSet =>
    step === undefined
      ? { member: true, children: new Map() }
      : { member: false, children: new Map([[step, build(rest)]]) };
  return paths.map(build).reduce(union, emptySet);
}

function applyConflict(conflicts: readonly { share: Share; fields: FieldSet }[]): StatusError {
  const found = conflicts.flatMap(({ share, fields }) =>
    pathsOf(fields).map((field) => ({ manager: shownManager(share), field })),
  );
  const causes = found.map(({ manager, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field,
  }));
  return new StatusError(409, 'Conflict', conflictMessage(found), { causes });
}

function conflictMessage(found: readonly { manager: string; field: string }[]): string {
  const [first] = found;
  if (found.length === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.manager}: ${first.field}`;
  }
  const managers = [...new Set(found.map(({ manager }) => manager))].sort();
  const lines = managers.flatMap((manager) => [
    `conflicts with ${manager}:`,
    ...found.filter((conflict) => conflict.manager === manager).map(({ field }) => `- ${field}`),
  ]);
  return `Apply failed with ${found.length} conflicts: ${lines.join('\n')}`;
}

function shownManager({ manager, operation, apiVersion, time, subresource }: Share): string {
  const name = `${JSON.stringify(manager)}${subresource === undefined ? '' : ` with subresource "${subresource}"`}`;
  if (operation === 'Apply') return name;
  return `${name} using ${apiVersion}${time === undefined ? '' : ` at ${time}`}`;
}
