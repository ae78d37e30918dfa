import type { OperationRecord } from '@corral/cluster-data';
import type { ClusterSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aCluster, aClusterSpec, aPool } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import { desiredHashOf } from '../../changes/desired-hash.js';
import { pointersInCluster } from '../../node-pools/pool-spec.js';
import { completeSpec } from './complete-spec.js';
import { checkImmutable, type DeclaredCluster, decideDeclaration } from './decide-declaration.js';

const started = (spec: Partial<ClusterSpec> = {}) => aCluster({ spec: aClusterSpec(spec) });
const draft = (spec: Partial<ClusterSpec> = {}) =>
  aCluster({ spec: aClusterSpec({ nodePools: [], ...spec }), startedAt: null, generation: 1 });
const network = (more: Partial<ClusterSpec['network']>) => ({ network: { ...aClusterSpec().network, ...more } });

describe('a declaration', () => {
  it('creates a missing cluster with generation 1', () => {
    const spec = aClusterSpec();

    expect(decideDeclaration(null, spec)).toEqual({
      kind: 'accepted',
      operation: 'cluster.create',
      generation: 1,
      isDraft: false,
      desiredHash: desiredHashOf(spec),
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
    const same = (more: Partial<DeclaredCluster>) => {
      const current = { ...started(), ...more };
      return decideDeclaration({ ...current, desiredHash: desiredHashOf(current.spec) }, current.spec);
    };

    expect(same({})).toEqual({ kind: 'unchanged' });
    expect(same({ conditions })).toMatchObject({ kind: 'accepted', operation: 'cluster.update', generation: 5 });
    // The operation waits for the field that the other manager holds.
    const lastOperation = { state: 'running', generation: 4 } as OperationRecord;
    expect(same({ conditions, lastOperation })).toMatchObject({ kind: 'accepted', generation: 5 });
    expect(same({ lastOperation })).toEqual({ kind: 'unchanged' });
  });

  it('of the same specification is accepted for a cluster that was restored and kept as it is, once', () => {
    const current = started();
    const kept = { ...current, desiredHash: desiredHashOf(current.spec), keptGeneration: current.generation };

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

  it.each<[string, DeclaredCluster, Partial<ClusterSpec>, string]>([
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
      'control plane of a cluster that resumes with it',
      started({ hibernated: true }),
      { controlPlaneHA: true },
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

  it('is unchanged when it is repeated', () => {
    const declared = fc.record(
      {
        hibernated: fc.boolean(),
        plan: fc.constantFrom('payg' as const, 'monthly' as const, 'annual' as const),
        nodePools: fc.array(
          fc.nat(5).map((maximum) => aPool({ minimum: 0, maximum })),
          { maxLength: 1 },
        ),
      },
      { requiredKeys: ['plan'] },
    );
    fc.assert(
      fc.property(declared, fc.boolean(), (partial, exists) => {
        const { hibernated: _, nodePools: __, ...rest } = aClusterSpec();
        const current = exists ? aCluster({ startedAt: null }) : null;
        const desired = completeSpec({ ...rest, ...partial }, current, pointersInCluster);
        const first = decideDeclaration(current, desired);
        const stored =
          first.kind === 'unchanged' ? (current as DeclaredCluster) : { ...aCluster(), spec: desired, ...first };

        const again = completeSpec({ ...rest, ...partial }, { spec: desired }, pointersInCluster);

        expect(decideDeclaration(stored, again)).toEqual({ kind: 'unchanged' });
      }),
    );
  });
});
