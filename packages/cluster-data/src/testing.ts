import type { ClusterSpec, NodePoolSpec } from '@corral/contracts';
import type { KnownPrices } from './cost.js';

/* Examples for tests. */

export const aPool = (more: Partial<NodePoolSpec> = {}): NodePoolSpec => ({
  name: 'general',
  source: 'managed',
  machineType: 'cpx31',
  image: {},
  minimum: 1,
  maximum: 3,
  publicIP: true,
  ...more,
});

/** A complete specification of a cluster with one pool. */
export const aClusterSpec = (more: Partial<ClusterSpec> = {}): ClusterSpec => ({
  connectionRef: 'main',
  region: 'hel1',
  kubernetesVersion: '1.33.4',
  hibernated: false,
  controlPlaneHA: false,
  plan: 'payg',
  deletionProtection: false,
  network: { nodeCIDR: '10.250.0.0/16', podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/16' },
  nodePools: [aPool()],
  ...more,
});

/** Prices in the provider's format. `cap` reaches its monthly price after 500 hours, `nocap` never within a month. */
export const aPriceList = (more: Partial<KnownPrices['prices']> = {}): KnownPrices => ({
  currency: 'EUR',
  pricedAt: new Date('2026-11-20T04:00:00.000Z'),
  prices: {
    serverTypes: {
      cpx31: { hel1: { hourly: '0.0210000000', monthly: '13.1000000000' } },
      cpx51: { hel1: { hourly: '0.0879000000', monthly: '54.9000000000' } },
      cap: { hel1: { hourly: '0.02', monthly: '10' } },
      nocap: { hel1: { hourly: '0.02', monthly: '100' } },
    },
    primaryIpv4: { hel1: { hourly: '0.0008', monthly: '0.5000' }, fsn1: { hourly: '0.0008', monthly: '0.5000' } },
    ...more,
  },
});
