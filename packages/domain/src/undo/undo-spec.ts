import type { ClusterSpec, FieldChange, NodePoolSpec } from '@corral/contracts';
import { isEqual, stepBack, type Thing } from './step-back.js';

/** An entry of the audit log about the specification of a cluster. */
export interface SpecEntry {
  readonly changes: readonly FieldChange[];
  /** Whether it is taken back; the others are later changes. */
  readonly isUndone: boolean;
}

export interface UndoneSpec {
  /** The specification before the oldest entry. */
  readonly before: ClusterSpec;
  readonly to: ClusterSpec;
  /** Fields that were changed again since, such as `plan` or `nodePools.general.maximum`. */
  readonly overwrites: readonly string[];
}

/**
 * What a specification becomes when changes of it are taken back. Changes name pools by their place, so the specification is
 * followed back through all later entries to know which pools are meant.
 *
 * @param newestFirst every entry since the oldest that is taken back, itself included
 * @returns null if the entries do not lead to this specification
 */
export function undoSpec(now: ClusterSpec, newestFirst: readonly SpecEntry[]): UndoneSpec | null {
  const steps: { readonly before: ClusterSpec; readonly after: ClusterSpec }[] = [];
  let before = now;
  for (const { changes, isUndone } of newestFirst) {
    const earlier = specBefore(before, changes);
    if (earlier === null) return null;
    if (isUndone) steps.push({ before: earlier, after: before });
    before = earlier;
  }
  const overwrites: string[] = [];
  const undone = <T>(place: string, partOf: (spec: ClusterSpec) => T | null): T | null => {
    const parts = steps.map((step) => ({ before: partOf(step.before) as Thing, after: partOf(step.after) as Thing }));
    const back = stepBack(partOf(now) as Thing, parts);
    overwrites.push(...back.overwrites.map((part) => [place, part].filter((each) => each !== '').join('.')));
    return back.to as T | null;
  };
  const specs = [now, ...steps.flatMap((step) => [step.before, step.after])];
  const names = new Set(specs.flatMap(({ nodePools }) => nodePools.map(({ name }) => name)));
  const to = {
    ...(undone('', fieldsOf) as ClusterSpec),
    network: undone('network', ({ network }) => network) as ClusterSpec['network'],
  };
  const pools = [...names].flatMap((name) => undone(`nodePools.${name}`, (spec) => poolOf(spec, name)) ?? []);
  const newest = steps[0]?.after ?? now;
  const isReordered = !isEqual(orderIn(before, newest), orderIn(newest, before));
  return { before, to: { ...to, nodePools: ordered(pools, isReordered ? before : now, before) }, overwrites };
}

const fieldsOf = ({ nodePools: _pools, network: _network, ...fields }: ClusterSpec) => fields;
const poolOf = ({ nodePools }: ClusterSpec, name: string): NodePoolSpec | null =>
  nodePools.find((pool) => pool.name === name) ?? null;
const namesOf = ({ nodePools }: ClusterSpec): string[] => nodePools.map(({ name }) => name);
/** The pools that both have, in the order of the first. */
const orderIn = (spec: ClusterSpec, other: ClusterSpec): string[] =>
  namesOf(spec).filter((name) => poolOf(other, name) !== null);

/** Pools that are back take the place that they had. */
function ordered(pools: readonly NodePoolSpec[], order: ClusterSpec, before: ClusterSpec): NodePoolSpec[] {
  const named = (names: readonly string[]) => names.flatMap((name) => pools.find((pool) => pool.name === name) ?? []);
  const sorted = named(namesOf(order));
  const back = pools.filter((pool) => !sorted.includes(pool));
  const placeOf = ({ name }: NodePoolSpec) => namesOf(before).indexOf(name);
  for (const pool of back.toSorted((one, other) => placeOf(one) - placeOf(other))) {
    sorted.splice(placeOf(pool) < 0 ? sorted.length : placeOf(pool), 0, pool);
  }
  return sorted;
}

/**
 * The specification before a change.
 *
 * @param after the specification that the change led to
 * @returns null if the change did not lead to it
 */
export function specBefore(after: ClusterSpec, changes: readonly FieldChange[]): ClusterSpec | null {
  const { nodePools, network, ...fields } = structuredClone(after) as ClusterSpec & Record<string, unknown>;
  const pools: (NodePoolSpec | null)[] = [...nodePools];
  let order: readonly string[] | null = null;
  const removed: { readonly at: number; readonly pool: NodePoolSpec }[] = [];
  for (const { pointer, from, to } of changes) {
    const [, , field = '', part, member] = pointer.split('/');
    const pool = pools[Number(part)];
    if (field === 'nodePools' && part === undefined) order = from as string[];
    else if (field === 'nodePools' && member === undefined) {
      if (to === null) removed.push({ at: Number(part), pool: from as NodePoolSpec });
      else if (isEqual(pool, to)) pools[Number(part)] = null;
      else return null;
    } else {
      const [target, name] =
        field === 'nodePools' ? [pool, member] : part === undefined ? [fields, field] : [network, part];
      if (target == null || name === undefined || !setBack(target, name, { from, to })) return null;
    }
  }
  const kept = pools.filter((pool) => pool !== null);
  const sorted = order === null ? kept : order.flatMap((name) => kept.find((pool) => pool.name === name) ?? []);
  if (sorted.length < kept.length) return null;
  for (const { at, pool } of removed.toSorted((one, other) => one.at - other.at)) sorted.splice(at, 0, pool);
  return { ...fields, network, nodePools: sorted } as ClusterSpec;
}

/** @returns whether the field has the value that it was changed to */
function setBack(target: object, name: string, { from, to }: Pick<FieldChange, 'from' | 'to'>): boolean {
  const fields = target as Record<string, unknown>;
  if (!isEqual(fields[name] ?? null, to)) return false;
  if (from === null) delete fields[name];
  else fields[name] = from;
  return true;
}
