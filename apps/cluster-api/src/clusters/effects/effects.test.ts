import type { ChangeEffect, ClusterSpec, NodePoolSpec, ObservedCluster } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { pointersInCluster, pointersInPool } from '../../node-pools/pool-spec.js';
import type { ClusterRecord } from '../rows.js';
import { effectsOf, effectsOfDeletion } from './effects.js';

const context = (version: string | null = '1.33.4') => ({ version, pointers: pointersInCluster });
const started = (spec: Partial<ClusterSpec> = {}, more: Partial<ClusterRecord> = {}) =>
  aCluster({ spec: aClusterSpec(spec), pinnedVersion: '1.33.4', ...more });
const aDraft = (spec: Partial<ClusterSpec> = {}) =>
  started({ nodePools: [], ...spec }, { startedAt: null, pinnedVersion: null });
const observed = (more: Partial<ObservedCluster>): ObservedCluster => ({
  kubernetes: null,
  apiServer: null,
  nodePools: [],
  maintenance: null,
  ...more,
});
const withPools = (...nodePools: NodePoolSpec[]) => ({ nodePools });
const own = (more: Partial<NodePoolSpec> = {}) =>
  aPool({ name: 'own', source: 'pooled', machineType: 'cx22', maximum: 2, ...more });

/** Target and kind of each effect, its fields, and the range of nodes where it is one of a pool. */
const shown = (effects: readonly ChangeEffect[]) => effects.map(shortly);

function shortly(effect: ChangeEffect): string {
  const fields = effect.fields.map((field) => ` ${field.replace('/spec', '')}`).join('');
  if (effect.target === 'cluster') return `cluster ${effect.kind}${fields}`;
  const { before, after } = effect.nodes;
  return `${effect.pool} ${effect.kind} ${rangeText(before)} to ${rangeText(after)}${fields}`;
}

const rangeText = (range: { minimum: number; maximum: number } | null): string =>
  range === null ? 'none' : `${range.minimum}-${range.maximum}`;

describe('the effects of a change', () => {
  it('are none when nothing changes', () => {
    expect(effectsOf(started(), aClusterSpec(), context())).toEqual([]);
  });

  it.each<[string, ClusterRecord, Partial<ClusterSpec>, string[]]>([
    [
      'a larger maximum scales the pool and keeps the others',
      started(withPools(aPool(), aPool({ name: 'b' }))),
      withPools(aPool({ maximum: 5 }), aPool({ name: 'b' })),
      ['general scaled 1-3 to 1-5 /nodePools/0/maximum', 'b kept 1-3 to 1-3'],
    ],
    [
      'a minimum of 0 instead of 1 is no other number of nodes',
      started(),
      withPools(aPool({ minimum: 0 })),
      ['general updated 1-3 to 1-3 /nodePools/0/minimum'],
    ],
    [
      'another machine type replaces the nodes of its pool only',
      started(withPools(aPool(), aPool({ name: 'b' }))),
      withPools(aPool({ machineType: 'cpx51', maximum: 4 }), aPool({ name: 'b' })),
      ['general replaced 1-3 to 1-4 /nodePools/0/machineType /nodePools/0/maximum', 'b kept 1-3 to 1-3'],
    ],
    [
      'nodes without a public address replace those with one',
      started(),
      withPools(aPool({ publicIP: false })),
      ['general replaced 1-3 to 1-3 /nodePools/0/publicIP'],
    ],
    [
      'added and removed pools leave the others alone, also at another place',
      started(withPools(aPool({ name: 'old' }), aPool())),
      withPools(aPool(), aPool({ name: 'new', minimum: 2 })),
      ['general kept 1-3 to 1-3', 'new added none to 2-3 /nodePools/1', 'old removed 1-3 to none /nodePools/0'],
    ],
    [
      'another order changes no pool',
      started(withPools(aPool(), aPool({ name: 'b' }))),
      withPools(aPool({ name: 'b' }), aPool()),
      ['cluster updated /nodePools', 'b kept 1-3 to 1-3', 'general kept 1-3 to 1-3'],
    ],
    [
      'a maximum of 0 deletes the nodes',
      started(withPools(aPool(), aPool({ name: 'b' }))),
      withPools(aPool(), aPool({ name: 'b', minimum: 0, maximum: 0 })),
      ['general kept 1-3 to 1-3', 'b scaled 1-3 to 0-0 /nodePools/1/minimum /nodePools/1/maximum'],
    ],
    [
      'a pool without nodes has none to replace',
      started(withPools(aPool(), aPool({ name: 'b', minimum: 0, maximum: 0 }))),
      withPools(aPool(), aPool({ name: 'b', minimum: 0, maximum: 0, machineType: 'cpx51' })),
      ['general kept 1-3 to 1-3', 'b updated 0-0 to 0-0 /nodePools/1/machineType'],
    ],
    [
      'hibernation deletes the managed nodes and leaves adopted servers',
      started(withPools(aPool(), own())),
      { ...withPools(aPool(), own()), hibernated: true },
      ['cluster hibernated /hibernated', 'general scaled 1-3 to 0-0 /hibernated', 'own kept 2-2 to 2-2'],
    ],
    [
      'resuming with another machine type replaces nothing',
      started({ hibernated: true }),
      withPools(aPool({ machineType: 'cpx51' })),
      ['cluster resumed /hibernated', 'general scaled 0-0 to 1-3 /nodePools/0/machineType /hibernated'],
    ],
    [
      'another machine type of a hibernated cluster replaces nothing',
      started({ hibernated: true }),
      { hibernated: true, ...withPools(aPool({ machineType: 'cpx51' })) },
      ['general updated 0-0 to 0-0 /nodePools/0/machineType'],
    ],
    [
      'another plan touches no node',
      started(),
      { plan: 'annual' },
      ['cluster updated /plan', 'general kept 1-3 to 1-3'],
    ],
    [
      'a highly available control plane touches no node',
      started(),
      { controlPlaneHA: true },
      ['cluster updated /controlPlaneHA', 'general kept 1-3 to 1-3'],
    ],
    [
      'more adopted servers join',
      started(withPools(aPool(), own())),
      withPools(aPool(), own({ maximum: 3 })),
      ['general kept 1-3 to 1-3', 'own scaled 2-2 to 3-3 /nodePools/1/maximum'],
    ],
    [
      'a cluster whose first pass has not begun has no nodes to replace',
      started({}, { startedAt: null, pinnedVersion: null }),
      withPools(aPool({ machineType: 'cpx51' })),
      ['general updated 1-3 to 1-3 /nodePools/0/machineType'],
    ],
    [
      'the first managed nodes start a draft',
      aDraft(),
      {},
      ['cluster started /nodePools', 'general added none to 1-3 /nodePools/0'],
    ],
    [
      'a draft is not upgraded',
      aDraft(),
      { nodePools: [], kubernetesVersion: '1.34' },
      ['cluster updated /kubernetesVersion'],
    ],
  ])('%s', (_what, current, desired, effects) => {
    expect(shown(effectsOf(current, aClusterSpec(desired), context()))).toEqual(effects);
  });

  it.each<[string, string, string | null, string[]]>([
    [
      'a minor version replaces all managed nodes',
      '1.34',
      '1.34.2',
      ['cluster upgraded /kubernetesVersion', 'general replaced 1-3 to 1-3 /kubernetesVersion', 'own kept 2-2 to 2-2'],
    ],
    [
      'a patch version updates managed nodes in place',
      '1.33.10',
      '1.33.10',
      ['cluster upgraded /kubernetesVersion', 'general updated 1-3 to 1-3 /kubernetesVersion', 'own kept 2-2 to 2-2'],
    ],
    [
      'the minor version of the patch in use changes no version',
      '1.33',
      '1.33.4',
      ['cluster updated /kubernetesVersion', 'general kept 1-3 to 1-3', 'own kept 2-2 to 2-2'],
    ],
    [
      'an unknown version counts as one that replaces nodes',
      '1.34',
      null,
      ['cluster upgraded /kubernetesVersion', 'general replaced 1-3 to 1-3 /kubernetesVersion', 'own kept 2-2 to 2-2'],
    ],
  ])('of a version: %s', (_what, kubernetesVersion, version, effects) => {
    const pools = withPools(aPool(), own());

    const found = effectsOf(started(pools), aClusterSpec({ ...pools, kubernetesVersion }), context(version));

    expect(shown(found)).toEqual(effects);
    expect(found[0]).toMatchObject({ kubernetesVersion: { before: '1.33.4', after: version } });
  });

  it('compare with the version that maintenance has raised', () => {
    const kubernetes = { version: '1.33.7', supportedUntil: null };
    const raised = started({}, { observed: observed({ kubernetes }) });

    const [upgrade] = effectsOf(raised, aClusterSpec({ kubernetesVersion: '1.33.10' }), context('1.33.10'));

    expect(upgrade).toMatchObject({ kubernetesVersion: { before: '1.33.7', after: '1.33.10' } });
  });

  it.each<[string, NodePoolSpec['image'], NodePoolSpec['image'], string]>([
    ['the name in use', {}, { name: 'ubuntu' }, 'updated'],
    ['name and version in use', {}, { name: 'ubuntu', version: '24.4.0' }, 'updated'],
    ['no image any more, which keeps the one in use', { name: 'ubuntu', version: '24.4.0' }, {}, 'updated'],
    ['another version', {}, { name: 'ubuntu', version: '26.4.0' }, 'replaced'],
    ['another name', { name: 'ubuntu' }, { name: 'flatcar' }, 'replaced'],
    ['another option', { name: 'ubuntu' }, { name: 'ubuntu', size: 5 }, 'replaced'],
  ])('of an image: %s', (_what, before, after, kind) => {
    const seen = observed({ nodePools: [{ name: 'general', image: { name: 'ubuntu', version: '24.4.0' } }] });
    const current = started(withPools(aPool({ image: before })), { observed: seen });

    const [effect] = effectsOf(current, aClusterSpec(withPools(aPool({ image: after }))), context());

    expect(effect).toMatchObject({ pool: 'general', kind });
  });

  it('of an image that the garden has not reported count as replacements', () => {
    const [effect] = effectsOf(started(), aClusterSpec(withPools(aPool({ image: { name: 'ubuntu' } }))), context());

    expect(effect).toMatchObject({ kind: 'replaced', fields: ['/spec/nodePools/0/image'] });
  });

  it('of an unchanged image are none while the garden still reports the one before', () => {
    const seen = observed({ nodePools: [{ name: 'general', image: { name: 'ubuntu', version: '24.4.0' } }] });
    const pool = aPool({ image: { name: 'flatcar' } });

    const [effect] = effectsOf(
      started(withPools(pool), { observed: seen }),
      aClusterSpec(withPools({ ...pool, maximum: 4 })),
      context(),
    );

    expect(effect).toMatchObject({ kind: 'scaled' });
  });

  it('on a drifted cluster say that changes of others are set back, also without a change', () => {
    const drifted = { type: 'Drifted', status: 'True', reason: 'ChangedByOthers', message: 'maximum is 9.' } as const;
    const current = started({}, { conditions: [{ ...drifted, lastTransitionTime: '2026-11-21T12:00:00.000Z' }] });

    const effects = effectsOf(current, aClusterSpec(), context());
    expect(shown(effects)).toEqual(['cluster repaired']);
    expect(effects[0]?.reason).toMatch(/^maximum is 9\. That is set back/);
    expect(shown(effectsOf(current, aClusterSpec({ plan: 'annual' }), context()))).toEqual([
      'cluster updated /plan',
      'cluster repaired',
      'general kept 1-3 to 1-3',
    ]);
  });

  it('of a new cluster add all its pools', () => {
    const found = effectsOf(null, aClusterSpec(withPools(aPool(), own())), context('1.33.10'));

    expect(shown(found)).toEqual([
      'cluster created ',
      'general added none to 1-3 /nodePools/0',
      'own added none to 2-2 /nodePools/1',
    ]);
    expect(found[0]).toMatchObject({ kubernetesVersion: { before: null, after: '1.33.10' } });
  });

  it('of a single pool have pointers into its body', () => {
    const desired = aClusterSpec(withPools(aPool(), aPool({ name: 'b', machineType: 'cpx51' })));
    const current = started(withPools(aPool(), aPool({ name: 'b' })));

    const found = effectsOf(current, desired, { version: '1.33.4', pointers: pointersInPool });

    expect(shown(found)).toEqual(['general kept 1-3 to 1-3', 'b replaced 1-3 to 1-3 /machineType']);
  });

  it('of a deletion remove control plane and pools', () => {
    const found = effectsOfDeletion(started(withPools(aPool(), own())));

    expect(shown(found)).toEqual(['cluster deleted', 'general removed 1-3 to none', 'own removed 2-2 to none']);
    expect(found[0]).toMatchObject({ kubernetesVersion: { before: '1.33.4', after: null } });
  });
});
