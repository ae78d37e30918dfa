import { nodeRangeOf } from '@corral/cluster-data';
import type { ChangeEffect, ClusterSpec, NodePoolSpec, PoolEffect } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aCluster, aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { pointersInCluster } from '../../node-pools/pool-spec.js';
import type { ClusterRecord } from '../rows.js';
import { differencesOf } from '../spec/spec-difference.js';
import { effectsOf, effectsOfDeletion } from './effects.js';

const pool = (name: string): fc.Arbitrary<NodePoolSpec> =>
  fc
    .record({
      // The source of a pool never changes, so it depends on the name.
      machineType: fc.constantFrom('cpx31', 'cpx51'),
      image: fc.constantFrom<NodePoolSpec['image']>({}, { name: 'ubuntu' }, { name: 'ubuntu', version: '24.4.0' }),
      minimum: fc.integer({ min: 0, max: 2 }),
      maximum: fc.integer({ min: 0, max: 4 }),
      publicIP: fc.boolean(),
    })
    .map((more) => aPool({ name, source: name === 'own' ? 'pooled' : 'managed', ...more }));

const versions = { '1.33': '1.33.10', '1.33.4': '1.33.4', '1.34': '1.34.2' } as const;
const spec: fc.Arbitrary<ClusterSpec> = fc
  .record({
    kubernetesVersion: fc.constantFrom(...(Object.keys(versions) as (keyof typeof versions)[])),
    hibernated: fc.boolean(),
    plan: fc.constantFrom('payg' as const, 'annual' as const),
    nodePools: fc
      .shuffledSubarray(['general', 'batch', 'own'])
      .chain((names) => fc.tuple(...names.map(pool)) as fc.Arbitrary<NodePoolSpec[]>),
  })
  .map(aClusterSpec);
const versionOf = ({ kubernetesVersion }: ClusterSpec) => versions[kubernetesVersion as keyof typeof versions];
const cluster: fc.Arbitrary<ClusterRecord> = fc
  .tuple(spec, fc.boolean())
  .map(([declared, isStarted]) =>
    isStarted
      ? aCluster({ spec: declared, pinnedVersion: versionOf(declared) })
      : aCluster({ spec: declared, startedAt: null, pinnedVersion: null }),
  );

type Range = PoolEffect['nodes']['before'];

/** The range of nodes of each pool. */
const pictureOf = (declared: ClusterSpec): Map<string, Range> =>
  new Map(
    declared.nodePools.map((each) => {
      const [minimum, maximum] = nodeRangeOf(each, declared);
      return [each.name, { minimum, maximum }];
    }),
  );

/** Applies the effects on pools, each of which must fit what is there before. */
function apply(effects: readonly ChangeEffect[], before: ReadonlyMap<string, Range>): Map<string, Range> {
  const picture = new Map(before);
  for (const effect of effects) {
    if (effect.target === 'cluster') continue;
    expect(effect.nodes.before).toEqual(picture.get(effect.pool) ?? null);
    if (effect.nodes.after === null) picture.delete(effect.pool);
    else picture.set(effect.pool, effect.nodes.after);
  }
  return picture;
}

const effectsBetween = (current: ClusterRecord | null, desired: ClusterSpec) =>
  effectsOf(current, desired, { version: versionOf(desired), pointers: pointersInCluster });
const ofPools = (effects: readonly ChangeEffect[]) => effects.filter((effect) => effect.target === 'nodePool');

describe('the effects of any change', () => {
  it('lead from the nodes before to the nodes after', () => {
    fc.assert(
      fc.property(fc.option(cluster), spec, (current, desired) => {
        const before = current === null ? new Map() : pictureOf(current.spec);

        const effects = effectsBetween(current, desired);

        expect(apply(effects, before)).toEqual(pictureOf(desired));
      }),
    );
  });

  it('have one entry for each pool when there is a change, and none at all when there is not', () => {
    fc.assert(
      fc.property(cluster, spec, (current, desired) => {
        const names = [...current.spec.nodePools, ...desired.nodePools].map(({ name }) => name);
        const isChanged = differencesOf(current.spec, desired).length > 0;

        const found = ofPools(effectsBetween(current, desired)).map((effect) => effect.pool);

        expect(found.toSorted()).toEqual(isChanged ? [...new Set(names)].sort() : []);
        expect(effectsBetween(current, current.spec)).toEqual([]);
      }),
    );
  });

  it('name every changed field, and only kept pools name none', () => {
    fc.assert(
      fc.property(cluster, spec, (current, desired) => {
        const effects = effectsBetween(current, desired);

        const named = new Set(effects.flatMap(({ fields }) => fields));
        expect([...differencesOf(current.spec, desired)].filter(({ pointer }) => !named.has(pointer))).toEqual([]);
        for (const effect of effects) expect(effect.fields.length === 0).toBe(effect.kind === 'kept');
      }),
    );
  });

  it('replace nodes only where there are some before and after', () => {
    fc.assert(
      fc.property(cluster, spec, (current, desired) => {
        for (const { kind, nodes } of ofPools(effectsBetween(current, desired))) {
          if (kind !== 'replaced') continue;
          expect(current.startedAt).not.toBeNull();
          expect(Math.min(nodes.before?.maximum ?? 0, nodes.after?.maximum ?? 0)).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('that is a deletion leave nothing', () => {
    fc.assert(
      fc.property(cluster, (current) => {
        expect(apply(effectsOfDeletion(current), pictureOf(current.spec))).toEqual(new Map());
      }),
    );
  });
});
