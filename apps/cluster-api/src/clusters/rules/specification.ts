import { isDeepStrictEqual } from 'node:util';
import { isManaged } from '@corral/cluster-data';
import {
  type ClusterNetwork,
  type ClusterSpec,
  type ClusterSpecInput,
  defaultNetwork,
  type FieldChange,
  type HibernationScheduleInput,
  InvalidBody,
  type NodePoolSpec,
  type NodePoolSpecInput,
  nodePoolDefaults,
  placeOf,
  scheduleDefaults,
} from '@corral/contracts';
import type { PoolPointers } from '../../node-pools/rules.js';

/* What a specification says: completed, and compared with another one. */

/**
 * Fills in omitted fields: with what the stored cluster has, or the initial value of a new one. Only the fields of a pool that
 * have a default in the specification of the API take it.
 *
 * @param current the stored cluster, or null for a new one
 * @param pointers where node pools are in the body
 * @throws InvalidBody with the required fields that a new cluster or pool lacks
 */
export function completeSpec(
  declared: ClusterSpecInput,
  current: { readonly spec: ClusterSpec } | null,
  pointers: PoolPointers,
): ClusterSpec {
  const present = current?.spec ?? null;
  const { connectionRef = present?.connectionRef, region = present?.region } = declared;
  const presentOf = (name: string) => present?.nodePools.find((pool) => pool.name === name) ?? null;
  const missing = [
    ...(connectionRef === undefined ? [lacking('/spec/connectionRef')] : []),
    ...(region === undefined ? [lacking('/spec/region')] : []),
    ...(declared.nodePools ?? []).flatMap((pool, index) => {
      const before = presentOf(pool.name);
      return machineTypeOf(pool, before) === undefined ? [lacking(`${pointers.pool(index)}/machineType`, before)] : [];
    }),
  ];
  if (connectionRef === undefined || region === undefined || missing.length > 0) throw new InvalidBody(missing);
  const { kubernetesVersion } = declared;
  const declaredPools = declared.nodePools?.map((pool, index) =>
    completePool(pool, presentOf(pool.name), pointers.pool(index)),
  );
  return {
    connectionRef,
    region,
    kubernetesVersion,
    plan: declared.plan ?? present?.plan ?? 'payg',
    hibernated: declared.hibernated ?? present?.hibernated ?? false,
    ...scheduleIn(declared.hibernationSchedule ?? present?.hibernationSchedule),
    controlPlaneHA: declared.controlPlaneHA ?? present?.controlPlaneHA ?? false,
    deletionProtection: declared.deletionProtection ?? present?.deletionProtection ?? false,
    network: completeNetwork(declared.network ?? {}, present?.network ?? defaultNetwork),
    nodePools: declaredPools ?? present?.nodePools ?? [],
  };
}

/** A schedule without hours is none. */
const scheduleIn = (declared: HibernationScheduleInput | undefined): Pick<ClusterSpec, 'hibernationSchedule'> =>
  declared === undefined || declared.awake.length === 0
    ? {}
    : { hibernationSchedule: { ...scheduleDefaults, ...declared } };

/**
 * Fills in omitted fields of a declared pool: its source, its image and on adopted servers the machine type from the stored pool,
 * the others with their defaults.
 *
 * @throws InvalidBody for a pool without a machine type
 */
export function completePool(declared: NodePoolSpecInput, present: NodePoolSpec | null, place: string): NodePoolSpec {
  const source = sourceOf(declared, present);
  const machineType = machineTypeOf(declared, present);
  if (machineType === undefined) throw new InvalidBody([lacking(`${place}/machineType`, present)]);
  const { name, image = present?.image ?? {}, minimum, maximum, publicIP } = { ...nodePoolDefaults, ...declared };
  return { name, source, machineType, image, minimum, maximum, publicIP };
}

const sourceOf = ({ source }: NodePoolSpecInput, present: NodePoolSpec | null): NodePoolSpec['source'] =>
  source ?? present?.source ?? 'managed';

function machineTypeOf(declared: NodePoolSpecInput, present: NodePoolSpec | null): string | undefined {
  const isFixed = present !== null && !isManaged(present) && present.source === sourceOf(declared, present);
  return declared.machineType ?? (isFixed ? present.machineType : undefined);
}

function completeNetwork(declared: Partial<ClusterNetwork>, present: ClusterNetwork): ClusterNetwork {
  const { nodeCIDR, podCIDR, serviceCIDR, existingNetwork } = { ...present, ...declared };
  return { nodeCIDR, podCIDR, serviceCIDR, ...(existingNetwork === undefined ? {} : { existingNetwork }) };
}

const lacking = (pointer: string, present: object | null = null) => ({
  name: placeOf(pointer),
  pointer,
  message: present === null ? 'must be set for a new resource' : 'is required',
});

/**
 * Lists what differs between two specifications. Node pools are matched by name. An added or removed pool is one
 * change, with its index in the specification that contains it.
 *
 * @param current null for a new cluster
 * @param declared the pools as the request has them: what it leaves out was changed by a default
 */
export function differencesOf(
  current: ClusterSpec | null,
  desired: ClusterSpec,
  declared: readonly NodePoolSpecInput[] = [],
): FieldChange[] {
  const { nodePools: before, network: networkBefore, ...restBefore } = current ?? noSpec;
  const { nodePools: after, network: networkAfter, ...restAfter } = desired;
  return [
    ...fieldsChanged('/spec', restBefore, restAfter),
    ...fieldsChanged('/spec/network', networkBefore, networkAfter),
    ...poolsChanged(before, after, declared),
  ];
}

/** Does what `differencesOf` does, for the body of one node pool. */
export function poolDifferencesOf(
  current: NodePoolSpec | null,
  desired: NodePoolSpec,
  declared?: NodePoolSpecInput,
): FieldChange[] {
  const changes = fieldsChanged('/spec', { ...current }, { ...desired });
  return current === null ? changes : changes.map(markedIn(declared));
}

/** Marks a change of a field that the request left out. */
const markedIn =
  (declared: NodePoolSpecInput | undefined) =>
  (change: FieldChange): FieldChange => {
    const field = change.pointer.split('/').at(-1) as keyof NodePoolSpecInput;
    return declared === undefined || declared[field] !== undefined ? change : { ...change, byDefault: true };
  };

/** The member of an answer that names what defaults replaced. None without such changes. */
export function resetToDefault(changes: readonly FieldChange[] = []): { resetToDefault?: FieldChange[] } {
  const reset = changes.filter(({ byDefault }) => byDefault);
  return reset.length === 0 ? {} : { resetToDefault: reset };
}

export const deletionOf = ({ spec }: { readonly spec: ClusterSpec }): FieldChange[] => [
  { pointer: '/spec', from: spec, to: null },
];

const noSpec = { nodePools: [] as NodePoolSpec[], network: {} };

function poolsChanged(
  before: readonly NodePoolSpec[],
  after: readonly NodePoolSpec[],
  declared: readonly NodePoolSpecInput[],
): FieldChange[] {
  const pointerOf = (index: number) => `/spec/nodePools/${index}`;
  const changes = after.flatMap((pool, index): FieldChange[] => {
    const old = before.find(({ name }) => name === pool.name);
    if (old === undefined) return [{ pointer: pointerOf(index), from: null, to: pool }];
    return fieldsChanged(pointerOf(index), { ...old }, { ...pool }).map(
      markedIn(declared.find(({ name }) => name === pool.name)),
    );
  });
  const kept = new Set(after.map(({ name }) => name));
  for (const [index, pool] of before.entries()) {
    if (!kept.has(pool.name)) changes.push({ pointer: pointerOf(index), from: pool, to: null });
  }
  return [...changes, ...orderChanged(before, after)];
}

function orderChanged(before: readonly NodePoolSpec[], after: readonly NodePoolSpec[]): FieldChange[] {
  const common = (pools: readonly NodePoolSpec[], others: readonly NodePoolSpec[]) =>
    pools.map(({ name }) => name).filter((name) => others.some((other) => other.name === name));
  const [from, to] = [common(before, after), common(after, before)];
  return isDeepStrictEqual(from, to) ? [] : [{ pointer: '/spec/nodePools', from, to }];
}

function fieldsChanged(place: string, before: object, after: object): FieldChange[] {
  const [old, wanted] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...wanted.keys()])]
    .map((member) => ({
      pointer: `${place}/${member}`,
      from: old.get(member) ?? null,
      to: wanted.get(member) ?? null,
    }))
    .filter(({ from, to }) => !isDeepStrictEqual(from, to));
}
