import { nodeRangeOf } from '@corral/cluster-data';
import {
  asConnectionId,
  type ChangeEffect,
  type ClusterNetwork,
  type ClusterSpec,
  type NodePoolSpec,
  type ObservedCluster,
  type PoolEffect,
} from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aCluster, aClusterSpec, aContext, aPool, NOW, quotas } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import { pointersInCluster } from '../../node-pools/rules.js';
import type { ClusterRecord } from '../store.js';
import { effectsOf, effectsOfDeletion } from './effects.js';
import { checkNetwork } from './network-rules.js';
import { type AcceptedPlan, type ChangeContext, planChange } from './plan-change.js';
import { differencesOf } from './specification.js';

describe('planning a change', () => {
  const refused = (current: ClusterRecord | null, desired: Partial<ClusterSpec>, more: Partial<ChangeContext> = {}) =>
    refusalOf(() => planChange(current, aClusterSpec(desired), aContext(more)));
  const accepted = (current: ClusterRecord | null, desired: Partial<ClusterSpec>, more: Partial<ChangeContext> = {}) =>
    planChange(current, aClusterSpec(desired), aContext(more)) as AcceptedPlan;
  const draft = aCluster({
    spec: aClusterSpec({ nodePools: [] }),
    startedAt: null,
    pinnedVersion: null,
    phase: 'Draft',
  });
  const pools = (count: number, maximum: number) =>
    Array.from({ length: count }, (_, index) => aPool({ name: `p${index}`, maximum, minimum: 0 }));

  describe('a change', () => {
    it('that changes nothing is unchanged, whatever the catalogue and the quotas say', () => {
      const current = aCluster();
      const context = aContext({ catalogue: null, connection: null, quotas: { ...quotas, nodesPerCluster: 0 } });

      expect(planChange(current, current.spec, context)).toEqual({ kind: 'unchanged' });
    });

    it('asks for the catalogue when it must be checked against it', () => {
      expect(planChange(null, aClusterSpec(), aContext({ catalogue: null }))).toEqual({ kind: 'catalogueNeeded' });
    });

    it('of hibernation needs no catalogue', () => {
      expect(accepted(aCluster(), { hibernated: true }, { catalogue: null }).kind).toBe('accepted');
    });

    it('that adds only adopted servers leaves a draft waiting for a managed pool', () => {
      const nodePools = [aPool({ source: 'pooled' })];
      const plan = accepted(draft, { nodePools }, { features: new Set(['adopted-nodes']) });

      expect(plan).toMatchObject({ isDraft: true, shown: { phase: 'Draft' } });
      expect(plan.shown.conditions.at(-1)?.message).toMatch(/managed node pool/);
    });

    it('needs a subscription for the first managed pool but not for adopted servers', () => {
      const context = { features: new Set(['adopted-nodes'] as const), lacksSubscription: true };

      expect(refused(draft, { nodePools: [aPool({ source: 'pooled' })] }, context)).toBeNull();
      expect(refused(draft, { nodePools: [aPool({ name: 'own', source: 'pooled' }), aPool()] }, context)).toEqual([
        'subscription_required',
        '/spec/nodePools',
      ]);
    });

    it('keeps the transition times of unchanged conditions', () => {
      const before = accepted(null, { nodePools: [] }).shown.conditions;
      const later = new Date(NOW.getTime() + 60_000);

      const after = accepted(aCluster({ ...draft, conditions: before }), {}, { now: later }).shown.conditions;

      expect(after.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(before.map(() => NOW.toISOString()));
    });
  });

  describe('a change is refused', () => {
    it('when the named connection does not exist', () => {
      expect(refused(null, {}, { connection: null })).toEqual(['validation_failed', '/spec/connectionRef']);
    });

    const rejected = { connection: { id: asConnectionId('x'), phase: 'Rejected' as const, prices: null } };
    it('when it needs a rejected connection', () => {
      expect(refused(aCluster(), { hibernated: true }, rejected)).toEqual([
        'connection_rejected',
        '/spec/connectionRef',
      ]);
      expect(refused(null, { nodePools: [] }, rejected)).toBeNull();
    });

    it('when a draft changes to a network that does not fit', () => {
      const network = { ...aClusterSpec().network, serviceCIDR: '10.96.0.0/24' };

      expect(refused(draft, { network, nodePools: [] })).toEqual(['invalid_network', '/spec/network/serviceCIDR']);
    });

    it('but not because of an unchanged network that today’s rules reject', () => {
      const network = { ...aClusterSpec().network, podCIDR: '10.244.0.0/20' };

      expect(refused(aCluster({ spec: aClusterSpec({ network }) }), { network, hibernated: true })).toBeNull();
    });

    it('when it asks for a highly available control plane that the garden does not support', () => {
      expect(refused(null, { controlPlaneHA: true })).toEqual(['unsupported_by_garden', '/spec/controlPlaneHA']);
      expect(refused(null, { controlPlaneHA: true }, { features: new Set(['control-plane-ha']) })).toBeNull();
    });

    it.each<[string, ClusterRecord | null, Partial<ClusterSpec>, number, string[] | null]>([
      ['the last cluster of the quota', null, {}, 19, null],
      ['one cluster too many', null, {}, 20, ['quota_exceeded', '']],
      ['a change of an existing cluster above the quota', aCluster(), { hibernated: true }, 21, null],
      ['as many pools as allowed', null, { nodePools: pools(20, 1) }, 0, null],
      ['one pool too many', null, { nodePools: pools(21, 1) }, 0, ['quota_exceeded', '/spec/nodePools']],
      ['as many nodes as allowed', null, { nodePools: pools(2, 50) }, 0, null],
      ['one node too many', null, { nodePools: pools(1, 101) }, 0, ['quota_exceeded', '/spec/nodePools']],
    ])('by the quotas: %s', (_what, current, desired, clustersOfTeam, refusal) => {
      expect(refused(current, desired, { clustersOfTeam })).toEqual(refusal);
    });

    it('by a lowered quota only when the cluster grows', () => {
      const large = aCluster({ spec: aClusterSpec({ nodePools: pools(3, 10) }) });
      const lowered = { quotas: { clustersPerTeam: 0, poolsPerCluster: 1, nodesPerCluster: 9 } };

      expect(refused(large, { nodePools: pools(3, 9) }, lowered)).toBeNull();
      expect(refused(large, { nodePools: pools(3, 11) }, lowered)?.[0]).toBe('quota_exceeded');
    });
  });
});

describe('the network of a cluster', () => {
  const refused = (
    network: Partial<ClusterNetwork>,
    more = quotas,
    features: ReadonlySet<GardenFeature> = new Set<GardenFeature>(),
  ) => refusalOf(() => checkNetwork({ ...aClusterSpec().network, ...network }, { quotas: more, features }));

  it.each<[string, Partial<ClusterNetwork>]>([
    ['the defaults', {}],
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
    ['IPv6', { podCIDR: 'fd00::/8' }, 'podCIDR'],
    ['too few pods', { podCIDR: '10.244.0.0/18' }, 'podCIDR'],
    ['a pod range above the limit of kube-controller-manager', { podCIDR: '10.0.0.0/7' }, 'podCIDR'],
    ['too few services', { serviceCIDR: '10.96.0.0/23' }, 'serviceCIDR'],
    ['a service range above the limit of kube-apiserver', { serviceCIDR: '10.96.0.0/11' }, 'serviceCIDR'],
    ['pods in public addresses', { podCIDR: '8.8.0.0/16' }, 'podCIDR'],
    ['pods beyond the shared address space', { podCIDR: '100.128.0.0/11' }, 'podCIDR'],
    ['pods below the shared address space', { podCIDR: '100.32.0.0/11' }, 'podCIDR'],
    ['pods that reach beyond the shared address space', { podCIDR: '100.0.0.0/9' }, 'podCIDR'],
    ['pods in the range of the garden’s tunnel', { podCIDR: '240.0.0.0/8' }, 'podCIDR'],
    ['pods that cover the gateway of the provider', { podCIDR: '172.31.0.0/16' }, 'podCIDR'],
    ['services that cover the gateway of the provider', { serviceCIDR: '172.31.0.0/20' }, 'serviceCIDR'],
    ['pods that contain the nodes', { podCIDR: '10.248.0.0/13' }, 'podCIDR'],
    ['services that overlap the nodes', { serviceCIDR: '10.250.4.0/22' }, 'serviceCIDR'],
    ['services inside the pods', { serviceCIDR: '10.244.16.0/20' }, 'serviceCIDR'],
    ['pods inside the services', { podCIDR: '10.96.0.0/17', serviceCIDR: '10.96.0.0/16' }, 'serviceCIDR'],
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
});

describe('the effects of a change', () => {
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

  it('of a deletion remove control plane and pools', () => {
    const found = effectsOfDeletion(started(withPools(aPool(), own())));

    expect(shown(found)).toEqual(['cluster deleted', 'general removed 1-3 to none', 'own removed 2-2 to none']);
    expect(found[0]).toMatchObject({ kubernetesVersion: { before: '1.33.4', after: null } });
  });
});

describe('the effects of any change', () => {
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
        const [minimum, maximum] = nodeRangeOf(each, declared.hibernated);
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

  it('lead from the nodes before to the nodes after, one for each pool, and name every changed field', () => {
    fc.assert(
      fc.property(fc.option(cluster), spec, (current, desired) => {
        const before = current === null ? new Map() : pictureOf(current.spec);
        const changes = differencesOf(current?.spec ?? null, desired);

        const effects = effectsBetween(current, desired);

        expect(apply(effects, before)).toEqual(pictureOf(desired));
        const names = [...before.keys(), ...pictureOf(desired).keys()];
        const pools = ofPools(effects).map(({ pool }) => pool);
        expect(pools.toSorted()).toEqual(changes.length === 0 ? [] : [...new Set(names)].sort());
        if (current === null) return;
        const named = new Set(effects.flatMap(({ fields }) => fields));
        expect(changes.filter(({ pointer }) => !named.has(pointer))).toEqual([]);
        for (const { fields, kind } of effects) expect(fields.length === 0).toBe(kind === 'kept');
      }),
    );
  });
});
