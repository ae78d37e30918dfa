import type { ClusterSpec, ClusterSpecInput, NodePoolSpec } from '@corral/contracts';

/** Fills in what an absent `hibernated` or `nodePools` stands for: what is there, or nothing for a new cluster. */
export function completeSpec(declared: ClusterSpecInput, current: ClusterSpec | null): ClusterSpec {
  return {
    ...declared,
    hibernated: declared.hibernated ?? current?.hibernated ?? false,
    nodePools: declared.nodePools ?? current?.nodePools ?? [],
  };
}

/** The specification with this pool in it: in the place of its namesake, else as the last one. */
export function withPool(spec: ClusterSpec, pool: NodePoolSpec): ClusterSpec {
  const index = spec.nodePools.findIndex(({ name }) => name === pool.name);
  return { ...spec, nodePools: index === -1 ? [...spec.nodePools, pool] : spec.nodePools.with(index, pool) };
}

export function withoutPool(spec: ClusterSpec, name: string): ClusterSpec {
  return { ...spec, nodePools: spec.nodePools.filter((pool) => pool.name !== name) };
}

/** Whether the garden makes the pool's nodes. Those of the others are servers that the team has adopted. */
export const isManaged = ({ source }: Pick<NodePoolSpec, 'source'>): boolean => source === 'managed';

/** Whether the garden would be given any worker: a pool that may not have nodes, or has its own, is left out there. */
export function hasWorkers({ nodePools }: Pick<ClusterSpec, 'nodePools'>): boolean {
  return nodePools.some((pool) => isManaged(pool) && pool.maximum > 0);
}

/** The fewest and the most nodes that there are for a pool. Adopted servers are there whatever the cluster does. */
export function nodeRangeOf(
  pool: Pick<NodePoolSpec, 'source' | 'minimum' | 'maximum'>,
  { hibernated }: Pick<ClusterSpec, 'hibernated'>,
): readonly [fewest: number, most: number] {
  if (!isManaged(pool)) return [pool.maximum, pool.maximum];
  return hibernated ? [0, 0] : [effectiveMinimum(pool), pool.maximum];
}

/** The garden keeps one node wherever there may be any. */
function effectiveMinimum({ minimum, maximum }: Pick<NodePoolSpec, 'minimum' | 'maximum'>): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}
