import type { NodePoolSpec } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { inCluster, inPool } from './places.js';
import { checkLastPool, checkPools } from './pool-rules.js';

const withPools = (...nodePools: NodePoolSpec[]) => aClusterSpec({ nodePools });
const adoptedNodes = new Set<GardenFeature>(['adopted-nodes']);
const refused = (
  pools: NodePoolSpec[],
  present: NodePoolSpec[] | null = null,
  features: ReadonlySet<GardenFeature> = new Set(),
) =>
  refusalOf(() => checkPools(present && withPools(...present), withPools(...pools), { places: inCluster, features }));

describe('node pools', () => {
  it('may be none, or many with different names', () => {
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
    ['nodes without public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
    ['an image by something else', { image: { id: 7 } }, 'unsupported_by_garden', 'image/id'],
    ['an image by a name with a slash', { image: { 'a/b~': 'x' } }, 'unsupported_by_garden', 'image/a~1b~0'],
    ['an image name that is no text', { image: { name: 7 } }, 'invalid_node_pool', 'image/name'],
    ['an empty image name', { image: { name: '' } }, 'invalid_node_pool', 'image/name'],
    ['an image version without name', { image: { version: '24.4.0' } }, 'invalid_node_pool', 'image/version'],
    ['an image whose only member is no text', { image: { version: 7 } }, 'invalid_node_pool', 'image/version'],
  ])('cannot have %s', (_what, pool, code, field) => {
    const pools = [aPool({ name: 'first' }), aPool({ name: 'second', ...pool })];

    expect(refused(pools)).toEqual([code, `/spec/nodePools/1/${field}`]);
  });

  it.each<[string, GardenFeature, Partial<NodePoolSpec>]>([
    ['have no public address', 'private-nodes', { publicIP: false }],
    ['have options of their image', 'image-options', { image: { name: 'ubuntu', kind: 'Options', hugePages: true } }],
  ])('may %s where the garden can do that', (_what, feature, more) => {
    expect(refused([aPool(more)], null, new Set([feature]))).toBeNull();
  });

  it.each<[string, Partial<NodePoolSpec>, Partial<NodePoolSpec>, string]>([
    ['public addresses', { publicIP: false }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
    ['options of an image', { image: { name: 'ubuntu', a: '1' } }, { image: { name: 'ubuntu', a: '2' } }, 'image/a'],
  ])('that lack %s hold up no other change where the garden has lost the feature', (_what, present, more, field) => {
    expect(refused([aPool({ ...present, maximum: 9 })], [aPool(present)])).toBeNull();
    expect(refused([aPool({ ...present, ...more })], [aPool(present)])).toEqual([
      ...['unsupported_by_garden', `/spec/nodePools/0/${field}`],
    ]);
  });

  it('name the feature and who can enable it where they are refused', () => {
    const work = () =>
      checkPools(null, withPools(aPool({ publicIP: false })), { places: inCluster, features: new Set() });

    expect(work).toThrow(/operators of this installation to enable private-nodes/);
  });

  it('keep their source for ever', () => {
    expect(refused([aPool()], [aPool({ source: 'pooled' })])).toEqual(['immutable_field', '/spec/nodePools/0/source']);
  });

  it('are named by their own body where that is one pool', () => {
    const work = () => checkPools(null, withPools(aPool({ minimum: 4 })), { places: inPool, features: new Set() });

    expect(refusalOf(work)).toEqual(['invalid_node_pool', '/spec/minimum']);
  });
});

describe('a pool on adopted servers', () => {
  const own = (more: Partial<NodePoolSpec> = {}) => aPool({ source: 'pooled', machineType: 'cx22', ...more });
  const now = (pool: NodePoolSpec, present: NodePoolSpec | null = null) =>
    refused([pool], present && [present], adoptedNodes);

  it.each<[string, NodePoolSpec]>([
    ['pooled, of any size', own({ minimum: 0, maximum: 7 })],
    ['dedicated, of one size', own({ source: 'dedicated', minimum: 2, maximum: 2 })],
    ['onprem, of one size', own({ source: 'onprem', minimum: 0, maximum: 0 })],
  ])('may be %s', (_what, pool) => {
    expect(now(pool)).toBeNull();
  });

  it.each<[string, Partial<NodePoolSpec>, string, string]>([
    ['two sizes, when it is dedicated', { source: 'dedicated', minimum: 1 }, 'invalid_node_pool', 'minimum'],
    ['two sizes, when it is onprem', { source: 'onprem', minimum: 1 }, 'invalid_node_pool', 'minimum'],
    ['an image', { image: { name: 'ubuntu' } }, 'unsupported_by_garden', 'image'],
    ['an image by something else', { image: { id: 7 } }, 'unsupported_by_garden', 'image'],
    ['no public address', { publicIP: false }, 'unsupported_by_garden', 'publicIP'],
  ])('cannot have %s', (_what, more, code, field) => {
    expect(now(own(more))).toEqual([code, `/spec/nodePools/0/${field}`]);
  });

  it.each<[string, NodePoolSpec, NodePoolSpec, string]>([
    ['source', own(), aPool(), 'source'],
    ['source, nor from managed', aPool(), own(), 'source'],
    ['source, nor to another kind', own(), own({ source: 'onprem', minimum: 3 }), 'source'],
    ['machine type', own(), own({ machineType: 'cx32' }), 'machineType'],
  ])('never changes its %s', (_what, present, pool, field) => {
    expect(now(pool, present)).toEqual(['immutable_field', `/spec/nodePools/0/${field}`]);
  });

  it.each<[string, Partial<NodePoolSpec>, boolean]>([
    ['may stay as it is', {}, true],
    ['may get smaller', { maximum: 2 }, true],
    ['cannot get larger', { maximum: 4 }, false],
  ])('%s where the garden has lost the feature', (_what, more, may) => {
    expect(refused([own(more)], [own()])).toEqual(may ? null : ['unsupported_by_garden', '/spec/nodePools/0/source']);
  });
});

describe('the last pool of a cluster that was started', () => {
  it.each<[string, NodePoolSpec[]]>([
    ['go', []],
    ['be left without nodes', [aPool({ minimum: 0, maximum: 0 })]],
    ['be left with adopted servers alone', [aPool({ source: 'pooled' })]],
  ])('cannot %s', (_what, pools) => {
    expect(refusalOf(() => checkLastPool(withPools(...pools)))).toEqual(['last_node_pool']);
  });

  it('is one that may have nodes', () => {
    const pools = [aPool({ name: 'a', minimum: 0, maximum: 0 }), aPool({ name: 'b', maximum: 1 })];

    expect(refusalOf(() => checkLastPool(withPools(...pools)))).toBeNull();
  });
});
