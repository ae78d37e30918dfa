import type { ClusterSpec } from '@corral/contracts';
import { nodesMaxOf, type PoolPointers } from '../../node-pools/rules.js';
import { checkAll, invalidField, Problem } from '../../problem.js';

export interface ClusterQuotas {
  readonly clustersPerTeam: number;
  readonly poolsPerCluster: number;
  /** Compared with the sum of the pools' maximums. */
  readonly nodesPerCluster: number;
}

/** A team's overrides of the installation's quotas. Null means no override. */
export type QuotaOverrides = { readonly [Q in keyof ClusterQuotas]: ClusterQuotas[Q] | null };

export function quotasOf(overrides: QuotaOverrides, defaults: ClusterQuotas): ClusterQuotas {
  return {
    clustersPerTeam: overrides.clustersPerTeam ?? defaults.clustersPerTeam,
    poolsPerCluster: overrides.poolsPerCluster ?? defaults.poolsPerCluster,
    nodesPerCluster: overrides.nodesPerCluster ?? defaults.nodesPerCluster,
  };
}

/** @throws Problem `quota_exceeded` when the team has reached its number of clusters */
export function checkClusterQuota(clusters: number, { clustersPerTeam }: ClusterQuotas): void {
  if (clusters < clustersPerTeam) return;
  const detail = `The team's quota is ${clustersPerTeam} clusters, and it has ${clusters}. Delete one, or ask the operators to raise the quota.`;
  const message = `would exceed the team's quota of ${clustersPerTeam} clusters`;
  throw new Problem('quota_exceeded', detail, { errors: [{ pointer: '', message, detail }] });
}

/**
 * Checks the pools and nodes of a cluster. A lowered quota only blocks growth.
 *
 * @throws Problem `quota_exceeded`
 */
export function checkPoolQuotas(
  current: ClusterSpec | null,
  { nodePools }: ClusterSpec,
  { poolsPerCluster, nodesPerCluster }: ClusterQuotas,
  pointers: PoolPointers,
): void {
  const present = current?.nodePools ?? [];
  const nodes = nodesMaxOf(nodePools);
  checkAll([
    () => {
      if (nodePools.length <= poolsPerCluster || nodePools.length <= present.length) return;
      throw invalidField(
        'quota_exceeded',
        pointers.pools,
        `would make ${nodePools.length} node pools; the limit per cluster is ${poolsPerCluster}. Remove some`,
      );
    },
    () => {
      if (nodes <= nodesPerCluster || nodes <= nodesMaxOf(present)) return;
      throw invalidField(
        'quota_exceeded',
        pointers.pools,
        `may grow to ${nodes} nodes in all; the limit per cluster is ${nodesPerCluster}. Lower the maximum of a pool`,
      );
    },
  ]);
}
