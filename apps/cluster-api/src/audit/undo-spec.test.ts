import { aClusterSpec, aPool } from '@corral/cluster-data/testing';
import type { ClusterSpec } from '@corral/contracts';
import { specBefore, undoSpec } from '@corral/domain';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { differencesOf } from '../clusters/rules/specification.js';

const pool = fc
  .record({ name: fc.constantFrom('a', 'b', 'c', 'd'), maximum: fc.constantFrom(1, 2), publicIP: fc.boolean() })
  .map(aPool);
const spec: fc.Arbitrary<ClusterSpec> = fc
  .record({
    hibernated: fc.boolean(),
    plan: fc.constantFrom('payg', 'standard'),
    existingNetwork: fc.option(fc.constant('n1'), { nil: undefined }),
    nodePools: fc.uniqueArray(pool, { selector: ({ name }) => name }),
  })
  .map(({ existingNetwork, plan, ...fields }) => {
    const { network, ...others } = aClusterSpec({ ...fields, plan: plan as ClusterSpec['plan'] });
    return { ...others, network: { ...network, ...(existingNetwork === undefined ? {} : { existingNetwork }) } };
  });

describe('the audit entries of a cluster', () => {
  it('lead back from each specification to the one before', () => {
    fc.assert(
      fc.property(spec, spec, (before, after) => {
        expect(specBefore(after, differencesOf(before, after))).toEqual(before);
      }),
    );
  });

  it('are taken back up to any of them, and undo of undo leads to the specification before undo', () => {
    fc.assert(
      fc.property(fc.array(spec, { minLength: 2, maxLength: 5 }), (specs) => {
        const [first, last] = [specs[0], specs.at(-1)] as [ClusterSpec, ClusterSpec];
        const entries = specs.slice(1).map((after, at) => differencesOf(specs[at] as ClusterSpec, after));
        const newestFirst = entries.toReversed().map((changes) => ({ changes, isUndone: true }));

        const undone = undoSpec(last, newestFirst);
        const to = undone?.to as ClusterSpec;
        const redone = undoSpec(to, [{ changes: differencesOf(last, to), isUndone: true }]);

        expect([undone?.to, undone?.overwrites]).toEqual([first, []]);
        expect([redone?.to, redone?.overwrites]).toEqual([last, []]);
      }),
    );
  });
});
