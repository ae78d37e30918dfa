import { asConnectionId, type ClusterSpec } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCatalogue, aCluster, aClusterSpec, aContext, aPool, NOW, quotas } from '../../../test/support/a-cluster.js';
import { refusalOf } from '../../../test/support/refusal.js';
import type { ClusterRecord } from '../rows.js';
import { type AcceptedPlan, type ChangeContext, planChange } from './plan-change.js';

const refused = (current: ClusterRecord | null, desired: Partial<ClusterSpec>, more: Partial<ChangeContext> = {}) =>
  refusalOf(() => planChange(current, aClusterSpec(desired), aContext(more)));
const accepted = (current: ClusterRecord | null, desired: Partial<ClusterSpec>, more: Partial<ChangeContext> = {}) =>
  planChange(current, aClusterSpec(desired), aContext(more)) as AcceptedPlan;
const draft = aCluster({ spec: aClusterSpec({ nodePools: [] }), startedAt: null, pinnedVersion: null, phase: 'Draft' });
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

  it('of a draft immediately shows that it awaits node pools', () => {
    const plan = accepted(null, { nodePools: [] });

    expect(plan).toMatchObject({ isDraft: true, shown: { phase: 'Draft' } });
    expect(plan.shown.conditions).toContainEqual({
      type: 'Reconciled',
      status: 'False',
      reason: 'AwaitingNodePools',
      message: expect.stringMatching(/Add a managed node pool/),
      lastTransitionTime: NOW.toISOString(),
    });
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

  it('that starts a cluster shows it as pending', () => {
    expect(accepted(draft, {})).toMatchObject({ isDraft: false, shown: { phase: 'Pending' } });
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
    expect(refused(aCluster(), { hibernated: true }, rejected)).toEqual(['connection_rejected', '/spec/connectionRef']);
    expect(refused(null, { nodePools: [] }, rejected)).toBeNull();
  });

  it('when the network of a new cluster does not fit', () => {
    const network = { ...aClusterSpec().network, podCIDR: '10.250.0.0/16' };

    expect(refused(null, { network })).toEqual(['invalid_network', '/spec/network/podCIDR']);
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

  it('when it removes the last pool of a started cluster', () => {
    expect(refused(aCluster(), { nodePools: [] })).toEqual(['last_node_pool', '/spec/nodePools']);
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

  it('by the catalogue, with a pointer', () => {
    const catalogue = aCatalogue({ machineTypes: [] });

    expect(refused(null, {}, { catalogue })).toEqual(['invalid_node_pool', '/spec/nodePools/0/machineType']);
  });
});
