import { isManaged } from '@corral/cluster-data';
import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import type { ClusterRecord } from '../clusters/rows.js';

/** JSON pointers (RFC 6901) to node pools in the body of a request. */
export interface PoolPointers {
  readonly pools: string;
  pool(index: number): string;
  /** To a field of the cluster itself. Empty in a body without it, which stands for the whole request. */
  cluster(field: 'connectionRef'): string;
}

/** For the body of a cluster, which lists all pools. */
export const pointersInCluster: PoolPointers = {
  pools: '/spec/nodePools',
  pool: (index) => `/spec/nodePools/${index}`,
  cluster: (field) => `/spec/${field}`,
};

/** For the body of a single pool. */
export const pointersInPool: PoolPointers = { pools: '/spec', pool: () => '/spec', cluster: () => '' };

/** For a request without a body. */
export const noPointers: PoolPointers = { pools: '', pool: () => '', cluster: () => '' };

/** Replaces the pool of the same name, or appends the pool. */
export function withPool(spec: ClusterSpec, pool: NodePoolSpec): ClusterSpec {
  const index = spec.nodePools.findIndex(({ name }) => name === pool.name);
  return { ...spec, nodePools: index === -1 ? [...spec.nodePools, pool] : spec.nodePools.with(index, pool) };
}

export function withoutPool(spec: ClusterSpec, name: string): ClusterSpec {
  return { ...spec, nodePools: spec.nodePools.filter((pool) => pool.name !== name) };
}

/**
 * Whether the Shoot would have any worker. Pools on adopted servers and those with a maximum of zero are left out of
 * it.
 */
export function hasWorkers({ nodePools }: Pick<ClusterSpec, 'nodePools'>): boolean {
  return nodePools.some((pool) => isManaged(pool) && pool.maximum > 0);
}

/** The sum of the pools' maximums. */
export function nodesMaxOf(pools: ClusterSpec['nodePools']): number {
  return pools.reduce((sum, { maximum }) => sum + maximum, 0);
}

export function findPool({ spec }: Pick<ClusterRecord, 'spec'>, name: string): NodePoolSpec | null {
  return spec.nodePools.find((pool) => pool.name === name) ?? null;
}
