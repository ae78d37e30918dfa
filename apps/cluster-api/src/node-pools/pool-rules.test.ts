import type { NodePoolSpec } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { checkLastPool, checkPools } from './pool-rules.js';
import { pointersInCluster, pointersInPool } from './pool-spec.js';

const withPools = (...nodePools: NodePoolSpec[]) => aClusterSpec({ nodePools });
const adoptedNodes = new Set<GardenFeature>(['adopted-nodes']);
const refused = (
  pools: NodePoolSpec[],
  present: NodePoolSpec[] | null = null,
  features: ReadonlySet<GardenFeature> = new Set(),
) =>
  refusalOf(() =>
    checkPools(present && withPools(...present), withPools(...pools), { pointers: pointersInCluster, features }),
  );

describe('node pools', () => {
  it('may be empty, or many with different names', () => {
    expect(refused([])).toBeNull();
    expect(refused([aPool({ name: 'a' }), aPool({ name: 'b', minimum: 3, maximum: 3 })])).toBeNull();
  });

  it('may name their image, with or without its version', () => {
    expect(refused([aPool({ image: { name: 'ubuntu' } })])).toBeNull();
    expect(refused([aPool({ image: { name: 'ubuntu', version: '24.4.0' } })])).toBeNull();
  });

  it.each<[string, Partial<NodePoolSpec>, string, string]>([
    ['a name twice', { name: 'first' }, 'invalid_node_pool', 'name'],
    ['a minimum above the maximum', { minimum: 4 }, 'invalid_node_pool', 'minimum'],
    ['a source that is not managed', { source: 'onprem' }, 'unsupported_by_garden', 'source'],
    ['nodes without a public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
    ['an unknown image option', { image: { id: 7 } }, 'unsupported_by_garden', 'image/id'],
    ['an image option whose name needs escaping', { image: { 'a/b~': 'x' } }, 'unsupported_by_garden', 'image/a~1b~0'],
    ['an image name that is not a string', { image: { name: 7 } }, 'invalid_node_pool', 'image/name'],
    ['an empty image name', { image: { name: '' } }, 'invalid_node_pool', 'image/name'],
    ['an image version without a name', { image: { version: '24.4.0' } }, 'invalid_node_pool', 'image/version'],
    ['an image version that is not a string', { image: { version: 7 } }, 'invalid_node_pool', 'image/version'],
  ])('cannot have %s', (_what, pool, code, field) => {
    const pools = [aPool({ name: 'first' }), aPool({ name: 'second', ...pool })];

    expect(refused(pools)).toEqual([code, `/spec/nodePools/1/${field}`]);
  });

  it.each<[string, GardenFeature, Partial<NodePoolSpec>]>([
    ['have no public address', 'private-nodes', { publicIP: false }],
    ['have image options', 'image-options', { image: { name: 'ubuntu', kind: 'Options', hugePages: true } }],
  ])('may %s where the garden supports it', (_what, feature, more) => {
    expect(refused([aPool(more)], null, new Set([feature]))).toBeNull();
  });

  it.each<[string, Partial<NodePoolSpec>, Partial<NodePoolSpec>, string]>([
    ['private nodes', { publicIP: false }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
    ['image options', { image: { name: 'ubuntu', a: '1' } }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
  ])('with %s do not block other changes after the garden lost the feature', (_what, present, more, field) => {
    expect(refused([aPool({ ...present, maximum: 9 })], [aPool(present)])).toBeNull();
    expect(refused([aPool({ ...present, ...more })], [aPool(present)])).toEqual([
      'unsupported_by_garden',
      `/spec/nodePools/0/${field}`,
    ]);
  });

  it('are refused with the feature to enable and who can enable it', () => {
    const work = () =>
      checkPools(null, withPools(aPool({ publicIP: false })), { pointers: pointersInCluster, features: new Set() });

    expect(work).toThrow(/operators of this installation to enable private-nodes/);
  });

  it('cannot change their source', () => {
    expect(refused([aPool()], [aPool({ source: 'pooled' })])).toEqual(['immutable_field', '/spec/nodePools/0/source']);
  });

  it('are refused with a pointer into the body of a single pool', () => {
    const work = () =>
      checkPools(null, withPools(aPool({ minimum: 4 })), { pointers: pointersInPool, features: new Set() });

    expect(refusalOf(work)).toEqual(['invalid_node_pool', '/spec/minimum']);
  });
});

describe('a pool on adopted servers', () => {
  const own = (more: Partial<NodePoolSpec> = {}) => aPool({ source: 'pooled', machineType: 'cx22', ...more });
  const now = (pool: NodePoolSpec, present: NodePoolSpec | null = null) =>
    refused([pool], present && [present], adoptedNodes);

  it.each<[string, NodePoolSpec]>([
    ['pooled with a range of sizes', own({ minimum: 0, maximum: 7 })],
    ['dedicated with a fixed size', own({ source: 'dedicated', minimum: 2, maximum: 2 })],
    ['onprem with a fixed size', own({ source: 'onprem', minimum: 0, maximum: 0 })],
  ])('may be %s', (_what, pool) => {
    expect(now(pool)).toBeNull();
  });

  it.each<[string, Partial<NodePoolSpec>, string, string]>([
    ['a range of sizes when it is dedicated', { source: 'dedicated', minimum: 1 }, 'invalid_node_pool', 'minimum'],
    ['a range of sizes when it is onprem', { source: 'onprem', minimum: 1 }, 'invalid_node_pool', 'minimum'],
    ['an image', { image: { name: 'ubuntu' } }, 'unsupported_by_garden', 'image'],
    ['an image option', { image: { id: 7 } }, 'unsupported_by_garden', 'image'],
    ['no public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
  ])('cannot have %s', (_what, more, code, field) => {
    expect(now(own(more))).toEqual([code, `/spec/nodePools/0/${field}`]);
  });

  it.each<[string, NodePoolSpec, NodePoolSpec, string]>([
    ['source to managed', own(), aPool(), 'source'],
    ['source from managed', aPool(), own(), 'source'],
    ['source to another kind', own(), own({ source: 'onprem', minimum: 3 }), 'source'],
    ['machine type', own(), own({ machineType: 'cx32' }), 'machineType'],
  ])('cannot change its %s', (_what, present, pool, field) => {
    expect(now(pool, present)).toEqual(['immutable_field', `/spec/nodePools/0/${field}`]);
  });

  it.each<[string, Partial<NodePoolSpec>, boolean]>([
    ['may stay unchanged', {}, true],
    ['may shrink', { maximum: 2 }, true],
    ['cannot grow', { maximum: 4 }, false],
  ])('%s after the garden lost the feature', (_what, more, may) => {
    expect(refused([own(more)], [own()])).toEqual(may ? null : ['unsupported_by_garden', '/spec/nodePools/0/source']);
  });
});

describe('the last pool of a started cluster', () => {
  it.each<[string, NodePoolSpec[]]>([
    ['be removed', []],
    ['be reduced to a maximum of zero', [aPool({ minimum: 0, maximum: 0 })]],
    ['be replaced by adopted servers alone', [aPool({ source: 'pooled' })]],
  ])('cannot %s', (_what, pools) => {
    expect(refusalOf(() => checkLastPool(withPools(), withPools(...pools), pointersInCluster))).toEqual([
      'last_node_pool',
      '/spec/nodePools',
    ]);
  });

  it('counts only when its maximum is above zero', () => {
    const pools = [aPool({ name: 'a', minimum: 0, maximum: 0 }), aPool({ name: 'b', maximum: 1 })];

    expect(refusalOf(() => checkLastPool(withPools(), withPools(...pools), pointersInCluster))).toBeNull();
  });
});
