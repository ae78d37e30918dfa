import { describe, expect, it } from '@jest/globals';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { completeSpec, effectiveMinimum, withoutPool, withPool } from './complete-spec.js';

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

describe('the least nodes of a pool', () => {
  it.each([
    [0, 3, 1],
    [2, 3, 2],
    [0, 0, 0],
  ])('from %s to %s are %s', (minimum, maximum, least) => {
    expect(effectiveMinimum({ minimum, maximum })).toBe(least);
  });
});
