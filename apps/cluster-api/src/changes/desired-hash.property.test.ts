import type { ClusterSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aClusterSpec, aPool } from '../../test/support/a-cluster.js';
import { desiredHashOf } from './desired-hash.js';

const specs = fc
  .record({
    region: fc.constantFrom('hel1', 'fsn1'),
    hibernated: fc.boolean(),
    controlPlaneHA: fc.boolean(),
    pools: fc.uniqueArray(fc.record({ name: fc.stringMatching(/^[a-z]{1,6}$/), maximum: fc.nat(20) }), {
      selector: ({ name }) => name,
      maxLength: 4,
    }),
  })
  .map(({ pools, ...rest }) =>
    aClusterSpec({ ...rest, nodePools: pools.map((pool) => aPool({ ...pool, minimum: 0 })) }),
  );

/** The same value with the members of every object in reverse order. */
function reordered<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reordered) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reordered(member)] as const);
  return Object.fromEntries(members.reverse()) as T;
}

describe('the hash of a specification', () => {
  it('has the documented form', () => {
    expect(desiredHashOf(aClusterSpec())).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('does not depend on the order of members', () => {
    fc.assert(fc.property(specs, (spec) => expect(desiredHashOf(reordered(spec))).toBe(desiredHashOf(spec))));
  });

  it('differs when the specifications differ', () => {
    fc.assert(
      fc.property(specs, specs, (one, other) => {
        const equal = JSON.stringify(one) === JSON.stringify(other);
        expect(desiredHashOf(one) === desiredHashOf(other)).toBe(equal);
      }),
    );
  });

  it('depends on the order of node pools', () => {
    const pools = [aPool({ name: 'a' }), aPool({ name: 'b' })];
    const hash = (nodePools: ClusterSpec['nodePools']) => desiredHashOf(aClusterSpec({ nodePools }));

    expect(hash(pools)).not.toBe(hash(pools.toReversed()));
  });
});
