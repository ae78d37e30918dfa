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

/** Whether the garden would be given any worker: a pool that may not have nodes is left out there. */
export function hasWorkers({ nodePools }: Pick<ClusterSpec, 'nodePools'>): boolean {
  return nodePools.some(({ maximum }) => maximum > 0);
}

/** The nodes that a pool has at least: the garden keeps one wherever there may be any. */
export function effectiveMinimum({ minimum, maximum }: Pick<NodePoolSpec, 'minimum' | 'maximum'>): number {
  return maximum > 0 ? Math.max(1, minimum) : 0;
}
