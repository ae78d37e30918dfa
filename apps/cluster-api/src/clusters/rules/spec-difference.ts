import type { ClusterSpec, FieldChange, NodePoolSpec, NodePoolSpecInput } from '@corral/contracts';
import canonicalize from 'canonicalize';

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

/** Like `differencesOf`, for the body of one node pool. */
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

/** The change that a deletion is. */
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
  return isSame(from, to) ? [] : [{ pointer: '/spec/nodePools', from, to }];
}

function fieldsChanged(place: string, before: object, after: object): FieldChange[] {
  const [old, wanted] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...wanted.keys()])]
    .map((member) => ({
      pointer: `${place}/${member}`,
      from: old.get(member) ?? null,
      to: wanted.get(member) ?? null,
    }))
    .filter(({ from, to }) => !isSame(from, to));
}

/** Compares as canonical JSON. */
const isSame = (one: unknown, other: unknown): boolean => one === other || canonicalize(one) === canonicalize(other);
