import { GardenError } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aClaim, aCluster, ago, aNode, aWanted, marks, now, said, times } from '../../test/support/a-server.js';
import { decide } from './decide.js';
import { judgeGarden } from './judge-garden.js';
import { nothingSeen, type Seen, type Step, type Verdict, type WantedServer } from './model.js';

/** A machine whose adoption was acknowledged, and which nobody has used yet. */
const aMachine = (more: Partial<WantedServer> = {}): WantedServer =>
  aWanted({ kind: 'dedicated', serverId: 321, claimedAt: null, observedAt: null, ...more });
/** Claimed by a cluster, and a node of it, or about to be. */
const aMember = (phase: WantedServer['phase'], more: Partial<WantedServer> = {}, cluster = aCluster()): WantedServer =>
  aMachine({ phase, purpose: 'join', claim: aClaim(cluster), member: cluster, nodeName: 'dedicated-321', ...more });
const asleep = aCluster({ isAsleep: true, canTakeNodes: false });
const other = aCluster({ id: 'other' });

const step = (wanted: WantedServer, seen: Partial<Seen> = {}): Step =>
  decide(wanted, { ...nothingSeen, ...seen }, now, times);
const verdict = (wanted: WantedServer, seen: Partial<Seen> = {}): Verdict => {
  const taken = step(wanted, seen);
  if (taken.do !== 'settle') throw new Error(`It does ${taken.do}.`);
  return taken.verdict;
};
const wipe = expect.stringContaining('must wipe it');

describe('a machine that nothing here can rebuild', () => {
  it.each<[string, WantedServer, Partial<Seen>, string]>([
    ['is adopted no further while no pool draws on it', aMachine(), {}, 'Adopting running'],
    ['waits for a cluster that takes no nodes yet', aMachine({ claim: aClaim(asleep) }), {}, 'Adopting running'],
    ['joins the cluster that claims it', aMachine({ claim: aClaim() }), {}, 'beginJoin'],
    ['joins it again later', aMachine({ phase: 'Ready', isAdopting: false, claim: aClaim() }), {}, 'beginJoin'],
    ['lets go of its Node when it was acknowledged anew', aMachine({ nodeName: 'x', member: other }), {}, 'beginLeave'],
    ['is looked for where it is to join', aMember('Joining'), {}, 'readNode'],
    ['is waited for', aMember('Joining'), { node: 'absent' }, 'Joining running'],
    [
      'is waited for without an operation',
      aMember('Joining', { isAdopting: false }),
      { node: 'absent' },
      'Joining stay',
    ],
    ['waits for a cluster that fell asleep', aMember('Joining', {}, asleep), {}, 'Joining running'],
    ['does not join what does not claim it', aMember('Joining', { claim: null }), {}, 'beginLeave'],
    ['does not join one cluster for another', aMember('Joining', { claim: aClaim(other) }), {}, 'beginLeave'],
    ['is marked', aMember('Joining'), { node: aNode({ labels: {}, annotations: {} }) }, 'markNode'],
    ['is waited for until it is Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'Joining running'],
    ['leaves no token behind', aMember('Joining'), { node: aNode() }, 'endJoin'],
    [
      'leaves none of a later command behind',
      aMember('Joining', { generation: 2 }),
      { node: aNode(), joinEndedIn: 1 },
      'endJoin',
    ],
    ['is adopted when it is a node', aMember('Joining'), { node: aNode(), joinEndedIn: 1 }, 'Joined succeeded'],
    [
      'has no operation to end when it joins again',
      aMember('Joining', { isAdopting: false }),
      { node: aNode(), joinEndedIn: 1 },
      'Joined stay',
    ],
    ['is looked at as a node', aMember('Joined'), {}, 'readNode'],
    [
      'is a node, whatever its provider would say',
      aMember('Joined', { observedAt: null }),
      { node: aNode() },
      'Joined stay',
    ],
    [
      'is a node when the token of the connection is rejected',
      aMember('Joined', { connection: { id: 'c', phase: 'Rejected' } }),
      { node: aNode() },
      'Joined stay',
    ],
    ['leaves when nothing claims it', aMember('Joined', { claim: null }), {}, 'beginLeave'],
    ['is cordoned first', aMember('Leaving', { claim: null }), { node: aNode() }, 'cordon'],
    [
      'is drained',
      aMember('Leaving', { claim: null }),
      { node: aNode({ isUnschedulable: true }), podsLeft: null },
      'evict',
    ],
    [
      'goes with its Node',
      aMember('Leaving', { claim: null }),
      { node: aNode({ isUnschedulable: true }), podsLeft: 0 },
      'deleteNode',
    ],
    ['goes with its tokens', aMember('Leaving', { claim: null }), { node: 'absent' }, 'endJoin'],
    [
      'is free when it has left',
      aMember('Leaving', { claim: null, isAdopting: false }),
      { node: 'absent', joinEndedIn: 1 },
      'Ready stay',
    ],
    [
      'is to be adopted still when it never was a node',
      aMember('Leaving', { claim: null }),
      { node: 'absent', joinEndedIn: 1 },
      'Adopting running',
    ],
    [
      'has left a cluster that is being deleted',
      aMember('Leaving', { claim: null, isAdopting: false }, aCluster({ isDeleting: true })),
      {},
      'Ready stay',
    ],
    [
      'has left a cluster that is gone',
      aMember('Leaving', { claim: null, member: null, isAdopting: false }),
      {},
      'Ready stay',
    ],
    [
      'stays in a cluster that sleeps',
      aMember('Leaving', { claim: null, isAdopting: false }, asleep),
      {},
      'Leaving stay',
    ],
    ['leaves after it has failed', aMember('Failed', { claim: null, isAdopting: false }), {}, 'beginLeave'],
    ['stays failed while it is claimed', aMember('Failed', { isAdopting: false }), {}, 'Failed stay'],
    ['is forgotten at once', aMachine({ phase: 'Deregistering', deregisterRequestedAt: ago(1) }), {}, 'forget'],
  ])('%s', (_what, wanted, seen, expected) => {
    expect(said(step(wanted, seen))).toBe(expected);
  });

  it('is called after its kind and number, and marked as the nodes of others are not', () => {
    expect(step(aMachine({ claim: aClaim() }))).toMatchObject({ nodeName: 'dedicated-321', cluster: aCluster() });
    expect(step(aMember('Joining'), { node: aNode({ labels: {}, annotations: {} }) })).toMatchObject({ marks });
  });

  it.each<[string, WantedServer, Partial<Seen>, string]>([
    ['no pool draws on it', aMachine(), {}, 'NoNodePool'],
    ['the cluster takes no nodes', aMachine({ claim: aClaim(asleep) }), {}, 'ClusterNotReady'],
    ['nobody has run the command', aMember('Joining'), { node: 'absent' }, 'MachineAwaited'],
    ['the node is not Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'NodeNotReady'],
    ['the cluster it leaves sleeps', aMember('Leaving', { claim: null }, asleep), {}, 'ClusterHibernated'],
  ])('says in its operation that %s', (_what, wanted, seen, reason) => {
    const told = verdict(wanted, seen);

    expect(told.waiting).toEqual({ reason, message: told.message });
    expect(told.message).not.toBe('');
    expect(told.lookAgainMs).toBeGreaterThan(0);
  });

  it('says in its operation that the cluster does not answer, and waits on', () => {
    const stand = { wanted: aMember('Joining'), now, times, random: 0 };

    const told = judgeGarden(stand, 'readNode', {
      kind: 'unanswered',
      error: new GardenError('unreachable', 'get shoot nodes'),
    });

    expect(told).toMatchObject({ phase: 'Joining', operation: { to: 'running' } });
    expect(told.waiting).toMatchObject({ reason: 'ClusterUnavailable' });
  });

  it.each<[string, WantedServer]>([
    ['that it is to be wiped, once it is free', aMachine({ phase: 'Ready', isAdopting: false })],
    [
      'the same of one that left before it was adopted',
      aMachine({
        message: verdict(aMember('Leaving', { claim: null }), { node: 'absent', joinEndedIn: 1 }).message,
      }),
    ],
  ])('says %s', (_what, wanted) => {
    expect(verdict(wanted).message).toEqual(wipe);
  });

  it.each<[string, WantedServer, Partial<Seen>]>([
    ['a pool', aMachine({ acknowledgedAt: ago(604_801) }), {}],
    ['its command', aMember('Joining', { begunAt: ago(604_801) }), { node: 'absent' }],
  ])('fails when it was let wait for %s for a week', (_what, wanted, seen) => {
    const told = verdict(wanted, seen);

    expect(told).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'server_never_joined' } });
    expect(told).toMatchObject({ message: 'The machine did not become a node within 168 hours.', waiting: null });
  });

  it('does not fail of the time for which its cluster slept', () => {
    const wanted = aMember('Joining', { begunAt: ago(604_801) }, asleep);

    expect(said(step(wanted))).toBe('Joining running');
  });

  it('is looked at before its time is over', () => {
    expect(verdict(aMachine({ acknowledgedAt: ago(604_790) })).lookAgainMs).toBeLessThan(20_000);
  });

  it('is looked for seldom after a while, and never less than once a minute', () => {
    const look = (seconds: number) =>
      verdict(aMember('Joining', { begunAt: ago(seconds) }), { node: 'absent' }).lookAgainMs;

    expect([look(1), look(300), look(86_400)]).toEqual([5_000, 30_000, 60_000]);
  });
});
