import type { NodePoolSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { differencesOf, poolDifferencesOf } from './spec-difference.js';

const withPools = (...nodePools: NodePoolSpec[]) => aClusterSpec({ nodePools });

describe('the changes of a specification', () => {
  it('are empty when nothing differs', () => {
    expect(differencesOf(aClusterSpec(), aClusterSpec())).toEqual([]);
  });

  it('point at single fields, also inside the network and pools', () => {
    const desired = aClusterSpec({
      plan: 'annual',
      network: { ...aClusterSpec().network, existingNetwork: 'mine' },
      nodePools: [aPool({ maximum: 9, image: { name: 'ubuntu' } })],
    });

    expect(differencesOf(aClusterSpec(), desired)).toEqual([
      { pointer: '/spec/plan', from: 'payg', to: 'annual' },
      { pointer: '/spec/network/existingNetwork', from: null, to: 'mine' },
      { pointer: '/spec/nodePools/0/image', from: {}, to: { name: 'ubuntu' } },
      { pointer: '/spec/nodePools/0/maximum', from: 3, to: 9 },
    ]);
  });

  it('list every field of a new cluster', () => {
    const pointers = differencesOf(null, aClusterSpec()).map(({ pointer, from }) => [pointer, from]);

    expect(pointers).toEqual(
      [
        'connectionRef',
        'region',
        'kubernetesVersion',
        'hibernated',
        'controlPlaneHA',
        'plan',
        'network/nodeCIDR',
        'network/podCIDR',
        'network/serviceCIDR',
        'nodePools/0',
      ].map((field) => [`/spec/${field}`, null]),
    );
  });

  it('match pools by name, so removing one does not mark the others as changed', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => aPool({ name })) as [NodePoolSpec, NodePoolSpec, NodePoolSpec];

    expect(differencesOf(withPools(a, b), withPools(b, c))).toEqual([
      { pointer: '/spec/nodePools/1', from: null, to: c },
      { pointer: '/spec/nodePools/0', from: a, to: null },
    ]);
  });

  it('include a new order of pools', () => {
    const pools = [aPool({ name: 'a' }), aPool({ name: 'b' })];

    expect(differencesOf(withPools(...pools), withPools(...pools.toReversed()))).toEqual([
      { pointer: '/spec/nodePools', from: ['a', 'b'], to: ['b', 'a'] },
    ]);
  });

  it('mark what the request left out, so that a default replaced it', () => {
    const [before, after] = [aPool({ maximum: 6, minimum: 2 }), aPool({ maximum: 3, minimum: 1 })];
    const declared = { name: before.name, minimum: 1 };

    expect(differencesOf(withPools(before), withPools(after, aPool({ name: 'b' })), [declared, { name: 'b' }])).toEqual(
      [
        { pointer: '/spec/nodePools/0/minimum', from: 2, to: 1 },
        { pointer: '/spec/nodePools/0/maximum', from: 6, to: 3, byDefault: true },
        { pointer: '/spec/nodePools/1', from: null, to: aPool({ name: 'b' }) },
      ],
    );
    expect(poolDifferencesOf(before, after, declared).at(-1)).toEqual({
      pointer: '/spec/maximum',
      from: 6,
      to: 3,
      byDefault: true,
    });
    expect(poolDifferencesOf(null, after, declared).filter(({ byDefault }) => byDefault)).toEqual([]);
  });

  it('of one pool point into the body of that pool', () => {
    expect(poolDifferencesOf(aPool(), aPool({ maximum: 9 }))).toEqual([{ pointer: '/spec/maximum', from: 3, to: 9 }]);
    expect(poolDifferencesOf(null, aPool())).toHaveLength(7);
  });
});
