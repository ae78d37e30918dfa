import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { completeSpec, hasWorkers, nodeRangeOf, withoutPool, withPool } from './complete-spec.js';

const { hibernated: _hibernated, nodePools: _pools, ...declared } = aClusterSpec();

describe('a declared specification', () => {
  it('of a new cluster is awake and without pools where it says nothing', () => {
    expect(completeSpec(declared, null)).toMatchObject({ hibernated: false, nodePools: [] });
  });

  it('keeps hibernation and pools where it says nothing', () => {
    const current = aClusterSpec({ hibernated: true });

    expect(completeSpec(declared, current)).toEqual(current);
  });

  it('changes them where it says so, to nothing as well', () => {
    const current = aClusterSpec({ hibernated: true });

    expect(completeSpec({ ...declared, hibernated: false, nodePools: [] }, current)).toMatchObject({
      ...{ hibernated: false, nodePools: [] },
    });
  });
});

describe('one pool of a specification', () => {
  const spec = aClusterSpec({ nodePools: [aPool({ name: 'a' }), aPool({ name: 'b' })] });
  const names = ({ nodePools }: typeof spec) => nodePools.map(({ name, maximum }) => `${name}${maximum}`);

  it('is replaced where it stands', () => {
    expect(names(withPool(spec, aPool({ name: 'a', maximum: 9 })))).toEqual(['a9', 'b3']);
  });

  it('is added at the end', () => {
    expect(names(withPool(spec, aPool({ name: 'c' })))).toEqual(['a3', 'b3', 'c3']);
  });

  it('is taken out', () => {
    expect(names(withoutPool(spec, 'a'))).toEqual(['b3']);
  });
});

describe('the nodes of a pool', () => {
  it.each([
    ['one at least where there may be any', 'managed', 0, 3, false, [1, 3]],
    ['as many as declared', 'managed', 2, 3, false, [2, 3]],
    ['none where there may be none', 'managed', 0, 0, false, [0, 0]],
    ['none while the cluster sleeps', 'managed', 2, 3, true, [0, 0]],
    ['all that it claims, of adopted servers', 'pooled', 0, 3, false, [3, 3]],
    ['all that it claims, of adopted servers while the cluster sleeps', 'onprem', 3, 3, true, [3, 3]],
  ] as const)('are %s', (_what, source, minimum, maximum, hibernated, range) => {
    expect(nodeRangeOf({ source, minimum, maximum }, { hibernated })).toEqual(range);
  });
});

describe('workers', () => {
  it.each([
    ['are there with a managed pool', [aPool()], true],
    ['are none without pools', [], false],
    ['are none when no pool may have nodes', [aPool({ minimum: 0, maximum: 0 })], false],
    ['are none with adopted servers alone', [aPool({ source: 'pooled' })], false],
    ['are there with adopted servers beside a managed pool', [aPool({ source: 'pooled' }), aPool()], true],
  ])('%s', (_what, nodePools, has) => {
    expect(hasWorkers({ nodePools })).toBe(has);
  });
});
