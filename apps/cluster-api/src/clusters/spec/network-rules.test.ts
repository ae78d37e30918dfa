import type { ClusterNetwork } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aClusterSpec, quotas } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import { checkNetwork } from './network-rules.js';

const refused = (
  network: Partial<ClusterNetwork>,
  more = quotas,
  features: ReadonlySet<GardenFeature> = new Set<GardenFeature>(),
) => refusalOf(() => checkNetwork({ ...aClusterSpec().network, ...network }, { quotas: more, features }));

describe('the network of a cluster', () => {
  it.each<[string, Partial<ClusterNetwork>]>([
    ['the defaults', {}],
    ['the smallest ranges', { podCIDR: '10.0.0.0/17', serviceCIDR: '10.0.128.0/22' }],
    ['large ranges', { nodeCIDR: '192.168.128.0/17', podCIDR: '10.0.0.0/9', serviceCIDR: '10.128.0.0/12' }],
    ['services in shared address space (RFC 6598)', { serviceCIDR: '100.64.0.0/13' }],
    [
      'both in shared address space, as by default in Gardener',
      { podCIDR: '100.96.0.0/11', serviceCIDR: '100.64.0.0/13' },
    ],
    ['all of the shared address space', { podCIDR: '100.64.0.0/10' }],
    ['pods right next to the nodes', { podCIDR: '10.251.0.0/16' }],
  ])('may have %s', (_what, network) => {
    expect(refused(network)).toBeNull();
  });

  it.each<[string, Partial<ClusterNetwork>, string]>([
    ['a word', { podCIDR: 'large' }, 'podCIDR'],
    ['an address without mask', { podCIDR: '10.244.0.0' }, 'podCIDR'],
    ['a mask of 33', { podCIDR: '10.244.0.0/33' }, 'podCIDR'],
    ['host bits', { podCIDR: '10.244.0.1/16' }, 'podCIDR'],
    ['leading zeros', { podCIDR: '010.244.0.0/16' }, 'podCIDR'],
    ['a short form', { serviceCIDR: '10.96/16' }, 'serviceCIDR'],
    ['IPv6', { podCIDR: 'fd00::/8' }, 'podCIDR'],
    ['a space', { podCIDR: ' 10.244.0.0/16' }, 'podCIDR'],
    ['too few pods', { podCIDR: '10.244.0.0/18' }, 'podCIDR'],
    ['a pod range above the limit of kube-controller-manager', { podCIDR: '10.0.0.0/7' }, 'podCIDR'],
    ['too few services', { serviceCIDR: '10.96.0.0/23' }, 'serviceCIDR'],
    ['a service range above the limit of kube-apiserver', { serviceCIDR: '10.96.0.0/11' }, 'serviceCIDR'],
    ['pods in public addresses', { podCIDR: '8.8.0.0/16' }, 'podCIDR'],
    ['pods beyond the shared address space', { podCIDR: '100.128.0.0/11' }, 'podCIDR'],
    ['pods below the shared address space', { podCIDR: '100.32.0.0/11' }, 'podCIDR'],
    ['pods that reach beyond the shared address space', { podCIDR: '100.0.0.0/9' }, 'podCIDR'],
    ['services in public addresses', { serviceCIDR: '1.0.0.0/16' }, 'serviceCIDR'],
    ['pods in the range of the garden’s tunnel', { podCIDR: '240.0.0.0/8' }, 'podCIDR'],
    ['services in the range of the garden’s tunnel', { serviceCIDR: '244.0.0.0/16' }, 'serviceCIDR'],
    ['pods that cover the gateway of the provider', { podCIDR: '172.31.0.0/16' }, 'podCIDR'],
    ['services that cover the gateway of the provider', { serviceCIDR: '172.31.0.0/20' }, 'serviceCIDR'],
    ['pods that overlap the nodes', { podCIDR: '10.250.0.0/17' }, 'podCIDR'],
    ['pods that contain the nodes', { podCIDR: '10.248.0.0/13' }, 'podCIDR'],
    ['services that overlap the nodes', { serviceCIDR: '10.250.4.0/22' }, 'serviceCIDR'],
    ['services that overlap the pods', { serviceCIDR: '10.244.4.0/22' }, 'serviceCIDR'],
    ['the same range twice', { serviceCIDR: '10.244.0.0/16' }, 'serviceCIDR'],
  ])('may not have %s', (_what, network, field) => {
    expect(refused(network)).toEqual(['invalid_network', `/spec/network/${field}`]);
  });

  it('needs a pod range for as many nodes as the quota allows', () => {
    const generous = { ...quotas, nodesPerCluster: 500 };

    expect(refused({ podCIDR: '10.244.0.0/16' }, generous)).toEqual(['invalid_network', '/spec/network/podCIDR']);
    expect(refused({ podCIDR: '10.128.0.0/14' }, generous)).toBeNull();
  });

  it('may be an existing one only where the garden supports that', () => {
    const able = new Set<GardenFeature>(['existing-network']);

    expect(refused({ existingNetwork: 'mine' })).toEqual(['unsupported_by_garden', '/spec/network/existingNetwork']);
    expect(refused({ existingNetwork: 'mine' }, quotas, able)).toBeNull();
    expect(refused({ existingNetwork: 'mine', podCIDR: 'large' }, quotas, able)).toEqual([
      'invalid_network',
      '/spec/network/podCIDR',
    ]);
  });

  it('is accepted exactly when its ranges are disjoint and large enough', () => {
    const aligned = (mask: number, base: number) => ((base >>> (32 - mask)) << (32 - mask)) >>> 0;
    const text = (address: number) => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
    const ranges = fc
      .tuple(fc.integer({ min: 12, max: 22 }), fc.integer({ min: 0x0ac00000, max: 0x0affffff }))
      .map(([mask, base]) => ({ from: aligned(mask, base), size: 2 ** (32 - mask), mask }));
    const overlap = (one: { from: number; size: number }, other: { from: number; size: number }) =>
      one.from < other.from + other.size && other.from < one.from + one.size;
    const nodes = { from: 0x0afa0000, size: 65_536 };
    fc.assert(
      fc.property(ranges, ranges, (pods, services) => {
        const podCIDR = `${text(pods.from)}/${pods.mask}`;
        const serviceCIDR = `${text(services.from)}/${services.mask}`;

        const accepted = refused({ podCIDR, serviceCIDR }) === null;

        const disjoint = !overlap(pods, services) && !overlap(pods, nodes) && !overlap(services, nodes);
        expect(accepted).toBe(disjoint && pods.mask <= 17);
      }),
    );
  });
});
