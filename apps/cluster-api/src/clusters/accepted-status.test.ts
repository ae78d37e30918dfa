import type { ClusterPhase, Condition } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, NOW } from '../../test/support/a-cluster.js';
import { acceptedStatus, type RequestedState } from './accepted-status.js';

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

describe('the status of an accepted change', () => {
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
