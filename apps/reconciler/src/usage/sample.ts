import { costOf, type KnownPrices, type NodeCounts } from '@corral/cluster-data';
import type { ClusterSpec, Cost, ObservedCluster } from '@corral/contracts';
import Big from 'big.js';

/** A cluster as far as usage depends on it. */
export interface UsedCluster {
  readonly spec: ClusterSpec;
  readonly prices: KnownPrices | null;
  readonly phase: string;
  readonly observed: ObservedCluster | null;
  readonly nodeCounts: NodeCounts | null;
}

export interface ClusterUsage {
  readonly clusters: number;
  /** Null if the nodes of one cluster are unknown. */
  readonly nodes: number | null;
  /** Net, per month. Null if one price is unknown, or the clusters have prices in several currencies. */
  readonly cost: { readonly minimum: string; readonly maximum: string; readonly currency: string | null } | null;
}

/** Adds up what the clusters of a team use. Without clusters, the cost is zero and has no currency. */
export const clusterUsageOf = (clusters: readonly UsedCluster[]): ClusterUsage => ({
  clusters: clusters.length,
  nodes: nodesOf(clusters),
  cost: totalOf(clusters.map(({ spec, prices }) => costOf(spec, prices))),
});

function nodesOf(clusters: readonly UsedCluster[]): number | null {
  let sum = 0;
  for (const { nodeCounts, phase, observed } of clusters) {
    const hasApiServer = (observed?.apiServer ?? null) !== null && phase !== 'Hibernated';
    if (nodeCounts === null && hasApiServer) return null;
    sum += Object.values(nodeCounts ?? {}).reduce((total, { total: nodes }) => total + nodes, 0);
  }
  return sum;
}

function totalOf(costs: readonly Cost[]): ClusterUsage['cost'] {
  const currencies = new Set(costs.map(({ currency }) => currency));
  if (currencies.size > 1) return null;
  let [minimum, maximum] = [new Big(0), new Big(0)];
  for (const { monthly } of costs) {
    if (monthly.minimum === null || monthly.maximum === null) return null;
    minimum = minimum.plus(monthly.minimum);
    maximum = maximum.plus(monthly.maximum);
  }
  return { minimum: minimum.toFixed(), maximum: maximum.toFixed(), currency: [...currencies][0] ?? null };
}
