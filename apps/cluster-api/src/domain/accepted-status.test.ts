import type { ClusterPhase, Condition } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster, aClusterSpec, NOW } from '../../test/support/a-cluster.js';
import { acceptedStatus, type Wish } from './accepted-status.js';

const awake: Wish = { kind: 'declare', hibernated: false, isDraft: false };
const asleep: Wish = { ...awake, hibernated: true };
const gone: Wish = { kind: 'delete' };
const since = '2026-11-01T00:00:00.000Z';
const seen = (type: string, status: Condition['status'], reason = 'Seen'): Condition => ({
  ...{ type, status, reason, message: `${reason}.`, lastTransitionTime: since },
});

describe('an accepted change shows at once', () => {
  it.each<[ClusterPhase, string, boolean, number, Wish, ClusterPhase]>([
    ['Ready', 'a change', false, 4, awake, 'Updating'],
    ['Degraded', 'a change', false, 4, awake, 'Updating'],
    ['Failed', 'a change', false, 4, awake, 'Updating'],
    ['Ready', 'hibernation', false, 4, asleep, 'Hibernating'],
    ['Hibernating', 'another change', true, 4, asleep, 'Hibernating'],
    ['Hibernated', 'a change that lets it sleep', true, 4, asleep, 'Updating'],
    ['Hibernated', 'resumption', true, 4, awake, 'Resuming'],
    ['Resuming', 'another change', false, 4, awake, 'Resuming'],
    ['Pending', 'a change', false, 0, awake, 'Pending'],
    ['Provisioning', 'hibernation', false, 0, asleep, 'Provisioning'],
    ['Failed', 'a change, before it was ever there', false, 0, awake, 'Pending'],
    ['Ready', 'deletion', false, 4, gone, 'Deleting'],
    ['Failed', 'deletion, before it was ever there', false, 0, gone, 'Deleting'],
  ])('of a cluster that is %s: %s', (phase, _what, hibernated, observedGeneration, wish, shown) => {
    const cluster = aCluster({ phase, spec: aClusterSpec({ hibernated }), observedGeneration });

    const status = acceptedStatus(cluster, wish, NOW);

    expect(status.phase).toBe(shown);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Reconciled', status: 'False', reason: 'Queued' }),
    );
  });

  it('that it is not reconciled any more, from now on; all else stands as it was seen', () => {
    const conditions = [seen('NodesReady', 'True'), seen('Reconciled', 'True'), seen('EveryNodeReady', 'Unknown')];

    const status = acceptedStatus(aCluster({ conditions }), awake, NOW);

    expect(status.conditions.map(({ type }) => type)).toEqual([
      ...['NodesReady', 'Reconciled', 'EveryNodeReady', 'SpecAccepted'],
    ]);
    expect(status.conditions[1]).toMatchObject({ status: 'False', lastTransitionTime: NOW.toISOString() });
    expect([status.conditions[0], status.conditions[2]]).toEqual([conditions[0], conditions[2]]);
  });

  it('nothing of what was wrong with an earlier specification', () => {
    const conditions = [seen('SpecAccepted', 'False', 'SpecRefused'), seen('Reconciled', 'False', 'SpecRefused')];

    const status = acceptedStatus(aCluster({ conditions }), awake, NOW);

    expect(status.conditions.map(({ status: is, reason }) => `${is} ${reason}`)).toEqual([
      ...['True Accepted', 'False Queued'],
    ]);
    expect(status.conditions[1]?.lastTransitionTime).toBe(since);
  });
});
