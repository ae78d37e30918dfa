import { type OperationRecord, specHashOf } from '@corral/cluster-data';
import {
  type ClusterPhase,
  type ClusterSpec,
  type ClusterSpecInput,
  type Condition,
  type NodePoolSpec,
  parseClusterPut,
} from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, aPool, NOW } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import { pointersInCluster } from '../../node-pools/rules.js';
import { Problem } from '../../problem.js';
import { deletionPreview } from '../delete.js';
import type { ClusterRecord } from '../store.js';
import { acceptedStatus, checkImmutable, decideDeclaration, type RequestedState } from './declaration.js';
import { completePool, completeSpec, differencesOf, poolDifferencesOf } from './specification.js';
import { validPartOf } from './valid-part.js';

describe('completing a specification', () => {
  const { hibernated: _hibernated, nodePools: _pools, ...declared } = aClusterSpec();
  const short = { kubernetesVersion: '1.33.4' } as const;
  const complete = (input: ClusterSpecInput, current: Parameters<typeof completeSpec>[1]) =>
    completeSpec(input, current, pointersInCluster);
  const started = (spec: Partial<ClusterSpec>) => aCluster({ spec: aClusterSpec(spec) });
  const draft = (spec: Partial<ClusterSpec>) => aCluster({ spec: aClusterSpec(spec), startedAt: null });

  describe('a declared specification', () => {
    it('defaults a new cluster to awake and without pools', () => {
      expect(complete(declared, null)).toMatchObject({ hibernated: false, nodePools: [] });
    });

    it('keeps every omitted field of the cluster itself, of a draft too', () => {
      const network = { nodeCIDR: '172.18.0.0/16', podCIDR: '10.100.0.0/16', serviceCIDR: '10.101.0.0/16' } as const;
      const switches = { hibernated: true, controlPlaneHA: true, deletionProtection: true };
      const fixed = { connectionRef: 'other', region: 'fsn1', plan: 'monthly', network, ...switches } as const;

      expect(complete(short, started(fixed))).toEqual(aClusterSpec(fixed));
      expect(complete({ ...short, network: { podCIDR: '10.200.0.0/16' } }, started(fixed)).network).toEqual({
        ...network,
        podCIDR: '10.200.0.0/16',
      });
      expect(complete(short, draft(fixed))).toEqual(aClusterSpec(fixed));
    });

    it('of a new cluster names all of them, those of its pools included', () => {
      const { machineType: _type, ...pool } = aPool();

      expect(() => complete({ ...short, nodePools: [aPool({ name: 'a' }), pool] }, null)).toThrow(
        'spec.connectionRef must be set for a new resource; spec.region must be set for a new resource; ' +
          'spec.nodePools[1].machineType must be set for a new resource',
      );
    });

    it('of an existing managed pool requires the machine type, and does not call it new', () => {
      const { machineType: _type, ...pool } = aPool();

      expect(() => complete({ ...short, nodePools: [pool] }, draft({ nodePools: [aPool()] }))).toThrow(
        'spec.nodePools[0].machineType is required',
      );
    });

    it('begins a new cluster and a new pool with the initial values', () => {
      const { name, machineType } = aPool();
      const { connectionRef, region, ...more } = aClusterSpec();
      const initial = { source: 'managed', image: {}, minimum: 0, maximum: 3, publicIP: true } as const;

      expect(complete({ ...short, connectionRef, region, nodePools: [{ name, machineType }] }, null)).toEqual({
        ...more,
        connectionRef,
        region,
        nodePools: [{ name, machineType, ...initial }],
      });
    });

    it('keeps the omitted image of a pool, and sets its other omitted fields to their defaults', () => {
      const general = aPool({ image: { name: 'ubuntu' }, minimum: 2, maximum: 6, publicIP: false });
      const { name, machineType } = general;
      const defaults = { minimum: 0, maximum: 3, publicIP: true };

      expect(completePool({ name, machineType }, general, '/spec')).toEqual({ ...general, ...defaults });
      expect(completePool({ name, machineType, image: {} }, general, '/spec').image).toEqual({});
      expect(
        complete({ ...short, nodePools: [{ name, machineType }] }, started({ nodePools: [general] })),
      ).toMatchObject({ nodePools: [{ ...general, ...defaults }] });
    });

    it('keeps the omitted source of a pool, and the machine type on adopted servers', () => {
      const own = aPool({ name: 'own', source: 'pooled', machineType: 'cx22' });
      const { source: _source, machineType: _type, ...rest } = own;

      expect(completePool(rest, own, '/spec')).toEqual(own);
      expect(completePool({ ...rest, machineType: 'cx32' }, null, '/spec')).toMatchObject({ source: 'managed' });
      expect(refusalOf(() => completePool(rest, aPool(), '/spec'))).toEqual(['validation_failed', '/spec/machineType']);
      expect(refusalOf(() => complete({ ...declared, nodePools: [rest] }, null))).toEqual([
        'validation_failed',
        '/spec/nodePools/0/machineType',
      ]);
    });
  });
});

describe('a declaration', () => {
  const started = (spec: Partial<ClusterSpec> = {}) => aCluster({ spec: aClusterSpec(spec) });
  const draft = (spec: Partial<ClusterSpec> = {}) =>
    aCluster({ spec: aClusterSpec({ nodePools: [], ...spec }), startedAt: null, generation: 1 });
  const network = (more: Partial<ClusterSpec['network']>) => ({ network: { ...aClusterSpec().network, ...more } });

  it('creates a missing cluster with generation 1', () => {
    const spec = aClusterSpec();

    expect(decideDeclaration(null, spec)).toEqual({
      kind: 'accepted',
      operation: 'cluster.create',
      generation: 1,
      isDraft: false,
      desiredHash: specHashOf(spec),
    });
  });

  it.each<[string, ClusterSpec['nodePools']]>([
    ['no pools', []],
    ['pools with a maximum of zero', [aPool({ minimum: 0, maximum: 0 })]],
  ])('creates a draft with %s', (_what, nodePools) => {
    expect(decideDeclaration(null, aClusterSpec({ nodePools }))).toMatchObject({ isDraft: true });
  });

  it('of the same specification is unchanged, unless the cluster has drifted', () => {
    const drifted = { type: 'Drifted', status: 'True', reason: 'ChangedByOthers', message: '' } as const;
    const conditions = [{ ...drifted, lastTransitionTime: '2026-11-21T12:00:00.000Z' }];
    const same = (more: Partial<ClusterRecord>) => {
      const current = { ...started(), ...more };
      return decideDeclaration({ ...current, desiredHash: specHashOf(current.spec) }, current.spec);
    };

    expect(same({})).toEqual({ kind: 'unchanged' });
    expect(same({ conditions })).toMatchObject({ kind: 'accepted', operation: 'cluster.update', generation: 5 });
    // The operation waits for the field that the other manager holds.
    const lastOperation = { state: 'running', generation: 4 } as OperationRecord;
    expect(same({ conditions, lastOperation })).toMatchObject({ kind: 'accepted', generation: 5 });
    expect(same({ lastOperation })).toEqual({ kind: 'unchanged' });
  });

  it('of a specification that was stored before it could be protected is unchanged', () => {
    const { deletionProtection: _absent, ...stored } = aClusterSpec();
    const current = { ...started(), desiredHash: specHashOf(stored) };

    expect(decideDeclaration(current, aClusterSpec())).toEqual({ kind: 'unchanged' });
    expect(decideDeclaration(current, aClusterSpec({ deletionProtection: true }))).toMatchObject({
      operation: 'cluster.update',
      generation: 5,
    });
  });

  it('of the same specification is accepted for a cluster that was restored and kept as it is, once', () => {
    const current = started();
    const kept = { ...current, desiredHash: specHashOf(current.spec), keptGeneration: current.generation };

    const accepted = decideDeclaration(kept, current.spec);

    expect(accepted).toMatchObject({ kind: 'accepted', operation: 'cluster.update', generation: 5 });
    expect(decideDeclaration({ ...kept, generation: 5 }, current.spec)).toEqual({ kind: 'unchanged' });
  });

  it('that adds the first pool to a draft starts it, as its creation', () => {
    expect(decideDeclaration(draft(), aClusterSpec())).toMatchObject({
      operation: 'cluster.create',
      generation: 2,
      isDraft: false,
    });
  });

  it.each<[boolean, string]>([
    [true, 'cluster.hibernate'],
    [false, 'cluster.resume'],
  ])('that only sets hibernated to %s on a draft is a %s', (hibernated, operation) => {
    expect(
      decideDeclaration(draft({ hibernated: !hibernated }), aClusterSpec({ nodePools: [], hibernated })),
    ).toMatchObject({
      operation,
      isDraft: true,
    });
  });

  it('that removes all pools before the first pass makes the cluster a draft again', () => {
    const pending = aCluster({ startedAt: null });

    expect(decideDeclaration(pending, aClusterSpec({ nodePools: [] }))).toMatchObject({ isDraft: true });
  });

  it.each<[string, Partial<ClusterSpec>, Partial<ClusterSpec>, string]>([
    ['hibernates', {}, { hibernated: true }, 'cluster.hibernate'],
    ['resumes', { hibernated: true }, { hibernated: false }, 'cluster.resume'],
    ['updates, when hibernation and another field change', {}, { hibernated: true, plan: 'annual' }, 'cluster.update'],
    ['updates, when a pool changes', {}, { nodePools: [aPool({ maximum: 9 })] }, 'cluster.update'],
  ])('%s', (_what, present, desired, operation) => {
    expect(decideDeclaration(started(present), aClusterSpec(desired))).toMatchObject({ operation, generation: 5 });
  });

  it.each<[string, ClusterRecord, Partial<ClusterSpec>, string]>([
    ['connection', started(), { connectionRef: 'other' }, '/spec/connectionRef'],
    ['connection of a draft', draft(), { connectionRef: 'other', nodePools: [] }, '/spec/connectionRef'],
    ['region', started(), { region: 'fsn1' }, '/spec/region'],
    ['node range', started(), network({ nodeCIDR: '172.18.0.0/16' }), '/spec/network/nodeCIDR'],
    ['pod range', started(), network({ podCIDR: '10.100.0.0/16' }), '/spec/network/podCIDR'],
    ['service range', started(), network({ serviceCIDR: '10.100.0.0/16' }), '/spec/network/serviceCIDR'],
    ['network', started(), network({ existingNetwork: 'mine' }), '/spec/network/existingNetwork'],
    ['replicated control plane', started({ controlPlaneHA: true }), {}, '/spec/controlPlaneHA'],
    [
      'control plane of a hibernated cluster',
      started({ hibernated: true }),
      { hibernated: true, controlPlaneHA: true },
      '/spec/controlPlaneHA',
    ],
    [
      'control plane of a cluster that hibernates with it',
      started(),
      { hibernated: true, controlPlaneHA: true },
      '/spec/controlPlaneHA',
    ],
  ])('cannot change the %s', (_what, current, desired, pointer) => {
    expect(refusalOf(() => checkImmutable(current, aClusterSpec(desired)))).toEqual(['immutable_field', pointer]);
  });

  it('can change network and control plane until the first pass', () => {
    const desired = aClusterSpec({ ...network({ podCIDR: '10.100.0.0/16' }), nodePools: [] });

    expect(decideDeclaration(draft({ controlPlaneHA: true }), desired).kind).toBe('accepted');
    expect(refusalOf(() => checkImmutable(draft({ controlPlaneHA: true }), desired))).toBeNull();
  });

  it('is refused while the cluster is being deleted, even when nothing changes', () => {
    const deleting = aCluster({ deletionRequestedAt: new Date() });

    expect(refusalOf(() => decideDeclaration(deleting, deleting.spec))).toEqual(['cluster_deleting']);
  });
});

describe('the changes of a specification', () => {
  const withPools = (...nodePools: NodePoolSpec[]) => aClusterSpec({ nodePools });

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
    const fields =
      'connectionRef region kubernetesVersion hibernated controlPlaneHA plan deletionProtection ' +
      'network/nodeCIDR network/podCIDR network/serviceCIDR nodePools/0';

    expect(differencesOf(null, aClusterSpec()).map(({ pointer, from }) => [pointer, from])).toEqual(
      fields.split(' ').map((field) => [`/spec/${field}`, null]),
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
});

describe('the rest of an invalid body', () => {
  const pools = { nodePools: [aPool(), aPool({ name: 'b' })] };
  const partOf = (spec: object, ...invalid: string[]) => {
    const part = validPartOf({ spec }, invalid);
    if (part === null) throw new Error('Nothing remains.');
    return part;
  };
  /** The places that are still reported when they are refused. */
  const reported = (invalid: string, ...places: string[]) => {
    const errors = places.map((pointer) => ({ pointer, message: 'is wrong' }));
    const { errorsOf } = partOf(aClusterSpec(pools), invalid);
    return errorsOf(new Problem('validation_failed', 'Wrong.', { errors })).map(({ pointer }) => pointer);
  };

  it.each<[string, object, string]>([
    ['a required field', { ...aClusterSpec(), region: 5 }, '/spec/region'],
    ['a missing field', { ...aClusterSpec(), kubernetesVersion: undefined }, '/spec/kubernetesVersion'],
    ['an optional field', { ...aClusterSpec(), plan: 'free' }, '/spec/plan'],
    ['an unknown field', { ...aClusterSpec(), 'a/b': 1 }, '/spec/a~1b'],
    ['a part of the network', { ...aClusterSpec(), network: { podCIDR: 5 } }, '/spec/network/podCIDR'],
    ['all pools', { ...aClusterSpec(), nodePools: 'none' }, '/spec/nodePools'],
    ['one pool', aClusterSpec({ nodePools: [aPool(), aPool({ name: 'B' })] }), '/spec/nodePools/1/name'],
  ])('has a valid form without %s', (_what, spec, pointer) => {
    const declared = JSON.parse(JSON.stringify(spec));

    expect(() => parseClusterPut({ spec: declared })).toThrow();
    expect(() => parseClusterPut(partOf(declared, pointer).body)).not.toThrow();
  });

  it('is nothing when the whole specification is invalid', () => {
    expect(validPartOf({ spec: [] }, ['/spec'])).toBeNull();
    expect(validPartOf({}, ['/spec'])).toBeNull();
    expect(validPartOf({ spec: aClusterSpec() }, [''])).toBeNull();
  });

  it.each<[string, string, string[], string[]]>([
    [
      'fields beside the invalid one',
      '/spec/region',
      ['/spec/kubernetesVersion', '/spec/region'],
      ['/spec/kubernetesVersion'],
    ],
    [
      'no machine type without a region',
      '/spec/region',
      ['/spec/nodePools/0/machineType', '/spec/nodePools/0/name'],
      ['/spec/nodePools/0/name'],
    ],
    ['no adopted servers without a connection', '/spec/connectionRef', ['/spec/nodePools/0/maximum'], []],
    ['no control plane without hibernation', '/spec/hibernated', ['/spec/controlPlaneHA'], []],
    ['no range of an invalid network', '/spec/network/podCIDR', ['/spec/network/serviceCIDR'], []],
    [
      'other pools, and no sum of all',
      '/spec/nodePools/0/name',
      ['/spec/nodePools', '/spec/nodePools/0/minimum', '/spec/nodePools/1/minimum'],
      ['/spec/nodePools/1/minimum'],
    ],
    ['the request as a whole', '/spec/region', [''], ['']],
  ])('reports %s', (_what, invalid, places, kept) => {
    expect(reported(invalid, ...places)).toEqual(kept);
  });
});

describe('the status of an accepted change', () => {
  const awake: RequestedState = { kind: 'declare', hibernated: false, isDraft: false };
  const asleep: RequestedState = { ...awake, hibernated: true };
  const gone: RequestedState = { kind: 'delete' };
  const since = '2026-11-01T00:00:00.000Z';
  const seen = (type: string, status: Condition['status'], reason = 'Seen'): Condition => ({
    type,
    status,
    reason,
    message: `${reason}.`,
    lastTransitionTime: since,
  });

  it.each<[ClusterPhase, string, boolean, number, RequestedState, ClusterPhase]>([
    ['Ready', 'a change', false, 4, awake, 'Updating'],
    ['Degraded', 'a change', false, 4, awake, 'Updating'],
    ['Failed', 'a change', false, 4, awake, 'Updating'],
    ['Ready', 'hibernation', false, 4, asleep, 'Hibernating'],
    ['Hibernating', 'another change', true, 4, asleep, 'Hibernating'],
    ['Hibernated', 'a change that keeps it hibernated', true, 4, asleep, 'Updating'],
    ['Hibernated', 'resumption', true, 4, awake, 'Resuming'],
    ['Resuming', 'another change', false, 4, awake, 'Resuming'],
    ['Pending', 'a change', false, 0, awake, 'Pending'],
    ['Provisioning', 'hibernation', false, 0, asleep, 'Provisioning'],
    ['Failed', 'a change before it was first reconciled', false, 0, awake, 'Pending'],
    ['Ready', 'deletion', false, 4, gone, 'Deleting'],
    ['Failed', 'deletion before it was first reconciled', false, 0, gone, 'Deleting'],
  ])('replaces the phase %s after %s', (phase, _what, hibernated, observedGeneration, requested, shown) => {
    const cluster = aCluster({ phase, spec: aClusterSpec({ hibernated }), observedGeneration });

    const status = acceptedStatus(cluster, requested, NOW);

    expect(status.phase).toBe(shown);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Reconciled', status: 'False', reason: 'Queued' }),
    );
  });

  it('sets Reconciled to False now and keeps the observed conditions', () => {
    const conditions = [seen('NodesReady', 'True'), seen('Reconciled', 'True'), seen('EveryNodeReady', 'Unknown')];

    const status = acceptedStatus(aCluster({ conditions }), awake, NOW);

    expect(status.conditions.map(({ type }) => type)).toEqual([
      'NodesReady',
      'Reconciled',
      'EveryNodeReady',
      'SpecAccepted',
    ]);
    expect(status.conditions[1]).toMatchObject({ status: 'False', lastTransitionTime: NOW.toISOString() });
    expect([status.conditions[0], status.conditions[2]]).toEqual([conditions[0], conditions[2]]);
  });

  it('forgets drift, which the change sets back: a pass reports what others change after it', () => {
    const conditions = [seen('Drifted', 'True'), seen('Reconciled', 'False', 'Drifted')];

    const status = acceptedStatus(aCluster({ conditions }), awake, NOW);

    expect(status.conditions.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Reconciled Queued',
      'SpecAccepted Accepted',
    ]);
  });

  it('clears the refusal of an earlier specification', () => {
    const conditions = [seen('SpecAccepted', 'False', 'SpecRefused'), seen('Reconciled', 'False', 'SpecRefused')];

    const status = acceptedStatus(aCluster({ conditions }), awake, NOW);

    expect(status.conditions.map(({ status: is, reason }) => `${is} ${reason}`)).toEqual([
      'True Accepted',
      'False Queued',
    ]);
    expect(status.conditions[1]?.lastTransitionTime).toBe(since);
  });
});

describe('the preview of a deletion', () => {
  it('counts adopted servers alone of a hibernated cluster, and says that they stay adopted', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'pooled', minimum: 1, maximum: 3 })];
    const [managed, own] = deletionPreview(aCluster({ spec: aClusterSpec({ nodePools, hibernated: true }) }));

    expect(managed).toMatchObject({ name: 'general', count: 0 });
    expect(own).toEqual({ kind: 'Node', name: 'own', count: 3, note: expect.stringContaining('stay adopted') });
  });

  it('says that dedicated machines must be wiped by their owner', () => {
    const nodePools = [aPool(), aPool({ name: 'own', source: 'dedicated', minimum: 2, maximum: 2 })];
    const [, own] = deletionPreview(aCluster({ spec: aClusterSpec({ nodePools }) }));

    expect(own).toMatchObject({ count: 2, note: expect.stringContaining('wiped by their owner') });
  });

  it('is empty for a cluster that was never started', () => {
    expect(deletionPreview(aCluster({ startedAt: null }))).toEqual([]);
  });
});
