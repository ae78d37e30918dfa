import { aClusterSpec, aPool as aDeclaredPool } from '@corral/cluster-data/testing';
import type { ClusterSpec, NodePoolSpec, ObservedCluster } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterUsageOf, type UsedCluster } from './sample.js';

/** Without addresses, whose prices the list lacks. */
const aPool = (more: Partial<NodePoolSpec> = {}): NodePoolSpec => aDeclaredPool({ publicIP: false, ...more });
const spec = (nodePools: readonly NodePoolSpec[]): ClusterSpec => aClusterSpec({ nodePools: [...nodePools] });
const prices = (currency = 'EUR'): UsedCluster['prices'] => ({
  currency,
  pricedAt: new Date(0),
  prices: { serverTypes: { cpx31: { hel1: { hourly: '0.1', monthly: '13.10' } } }, primaryIpv4: {} },
});
const withServer = { kubernetes: null, apiServer: 'https://api.test', nodePools: [], maintenance: null };
const aCluster = (more: Partial<UsedCluster> = {}): UsedCluster => ({
  spec: spec([aPool()]),
  prices: prices(),
  phase: 'Ready',
  observed: withServer as unknown as ObservedCluster,
  nodeCounts: { general: { ready: 1, total: 2 } },
  ...more,
});

describe('the usage of clusters', () => {
  it('is zero without clusters, in no currency', () => {
    expect(clusterUsageOf([])).toEqual({
      clusters: 0,
      nodes: 0,
      cost: { minimum: '0', maximum: '0', currency: null },
    });
  });

  it('is the exact sum over all clusters', () => {
    expect(clusterUsageOf([aCluster(), aCluster({ spec: spec([aPool({ maximum: 1 })]) })])).toEqual({
      clusters: 2,
      nodes: 4,
      cost: { minimum: '26.2', maximum: '52.4', currency: 'EUR' },
    });
  });

  it.each<[string, Partial<UsedCluster>, number | null]>([
    ['unknown while a cluster with an API server has not answered', { nodeCounts: null }, null],
    ['zero for a hibernated cluster', { nodeCounts: null, phase: 'Hibernated' }, 0],
    ['zero before there is an API server', { nodeCounts: null, observed: null }, 0],
    ['zero for a cluster without pools', { nodeCounts: {} }, 0],
  ])('has a number of nodes that is %s', (_what, more, nodes) => {
    expect(clusterUsageOf([aCluster(more)]).nodes).toBe(nodes);
  });

  it.each<[string, UsedCluster[]]>([
    ['one price list was never read', [aCluster(), aCluster({ prices: null })]],
    ['one machine type has no price', [aCluster(), aCluster({ spec: spec([aPool({ machineType: 'none' })]) })]],
    ['the clusters have prices in two currencies', [aCluster(), aCluster({ prices: prices('USD') })]],
  ])('has an unknown cost when %s', (_what, clusters) => {
    expect(clusterUsageOf(clusters).cost).toBeNull();
  });
});
