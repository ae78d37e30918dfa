import { asClusterId, asConnectionId } from '@corral/contracts';
import { GardenError } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aClaim, aCluster, ago, aNode, aWanted, nodePatch, now, said, times } from '../../../test/support/a-server.js';
import { judgeClusterFailure } from '../judge.js';
import { nothingSeen, type Seen, type Step, type Verdict, type WantedServer } from '../model.js';
import { decide } from './decide.js';

/** A machine with an acknowledged adoption and no use yet. */
const aMachine = (more: Partial<WantedServer> = {}): WantedServer =>
  aWanted({ kind: 'dedicated', serverId: 321, labelledAt: null, observedAt: null, ...more });
/** A machine claimed by a cluster, and its node or about to join. */
const aMember = (phase: WantedServer['phase'], more: Partial<WantedServer> = {}, cluster = aCluster()): WantedServer =>
  aMachine({
    phase,
    purpose: 'join',
    claim: aClaim(cluster),
    currentCluster: cluster,
    nodeName: 'dedicated-321',
    ...more,
  });
const asleep = aCluster({ isHibernated: true, canTakeNodes: false });
const other = aCluster({ id: asClusterId('other') });

const step = (wanted: WantedServer, seen: Partial<Seen> = {}): Step =>
  decide(wanted, { ...nothingSeen, ...seen }, now, times);
const verdict = (wanted: WantedServer, seen: Partial<Seen> = {}): Verdict => {
  const taken = step(wanted, seen);
  if (taken.do !== 'finish') throw new Error(`It does not finish: ${taken.do}`);
  return taken.verdict;
};
const wipe = expect.stringContaining('must wipe it');

describe('a machine that Corral cannot rebuild', () => {
  it.each<[string, WantedServer, Partial<Seen>, string]>([
    ['stays in adoption while no pool uses it', aMachine(), {}, 'Adopting running'],
    ['waits for a cluster that cannot take nodes yet', aMachine({ claim: aClaim(asleep) }), {}, 'Adopting running'],
    ['joins the cluster that claims it', aMachine({ claim: aClaim() }), {}, 'beginJoin'],
    [
      'joins it again after it was Ready',
      aMachine({ phase: 'Ready', isAdopting: false, claim: aClaim() }),
      {},
      'beginJoin',
    ],
    [
      'leaves its old cluster when it was acknowledged again',
      aMachine({ nodeName: 'x', currentCluster: other }),
      {},
      'beginLeave',
    ],
    ['is looked up in the cluster that it joins', aMember('Joining'), {}, 'readNode'],
    ['is awaited', aMember('Joining'), { node: 'absent' }, 'Joining running'],
    ['is awaited without an operation', aMember('Joining', { isAdopting: false }), { node: 'absent' }, 'Joining stay'],
    ['waits for a cluster that was hibernated', aMember('Joining', {}, asleep), {}, 'Joining running'],
    ['does not join a cluster that no longer claims it', aMember('Joining', { claim: null }), {}, 'beginLeave'],
    ['does not join when another cluster claims it', aMember('Joining', { claim: aClaim(other) }), {}, 'beginLeave'],
    [
      'gets its labels and annotations',
      aMember('Joining'),
      { node: aNode({ labels: {}, annotations: {} }) },
      'patchNode',
    ],
    ['is awaited until it is Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'Joining running'],
    ['deletes its token after it joined', aMember('Joining'), { node: aNode() }, 'endJoin'],
    [
      'deletes the token of a later command too',
      aMember('Joining', { generation: 2 }),
      { node: aNode(), joinEndedIn: 1 },
      'endJoin',
    ],
    [
      'succeeds in its adoption when it is a node',
      aMember('Joining'),
      { node: aNode(), joinEndedIn: 1 },
      'Joined succeeded',
    ],
    [
      'ends no operation when it joins again',
      aMember('Joining', { isAdopting: false }),
      { node: aNode(), joinEndedIn: 1 },
      'Joined stay',
    ],
    ['is checked as a node', aMember('Joined'), {}, 'readNode'],
    ['is a node without asking a provider', aMember('Joined', { observedAt: null }), { node: aNode() }, 'Joined stay'],
    [
      'is a node, whatever its provider would say',
      aMember('Joined', { observedAt: null }),
      { node: aNode() },
      'Joined stay',
    ],
    [
      'is a node when the token of the connection is rejected',
      aMember('Joined', { connection: { id: asConnectionId('c'), phase: 'Rejected' } }),
      { node: aNode() },
      'Joined stay',
    ],
    ['leaves without a claim', aMember('Joined', { claim: null }), {}, 'beginLeave'],
    ['is cordoned before it leaves', aMember('Leaving', { claim: null }), { node: aNode() }, 'cordon'],
    [
      'is drained after the cordon',
      aMember('Leaving', { claim: null }),
      { node: aNode({ isUnschedulable: true }), podsLeft: null },
      'evict',
    ],
    [
      'deletes its Node after the drain',
      aMember('Leaving', { claim: null }),
      { node: aNode({ isUnschedulable: true }), podsLeft: 0 },
      'deleteNode',
    ],
    ['deletes its tokens after its Node', aMember('Leaving', { claim: null }), { node: 'absent' }, 'endJoin'],
    [
      'is Ready after it has left',
      aMember('Leaving', { claim: null, isAdopting: false }),
      { node: 'absent', joinEndedIn: 1 },
      'Ready stay',
    ],
    [
      'stays in adoption when it left before it was a node',
      aMember('Leaving', { claim: null }),
      { node: 'absent', joinEndedIn: 1 },
      'Adopting running',
    ],
    [
      'has left when its cluster is being deleted',
      aMember('Leaving', { claim: null, isAdopting: false }, aCluster({ isDeleting: true })),
      {},
      'Ready stay',
    ],
    [
      'has left when its cluster is gone',
      aMember('Leaving', { claim: null, currentCluster: null, isAdopting: false }),
      {},
      'Ready stay',
    ],
    [
      'stays in a hibernated cluster',
      aMember('Leaving', { claim: null, isAdopting: false }, asleep),
      {},
      'Leaving stay',
    ],
    ['leaves after it has failed', aMember('Failed', { claim: null, isAdopting: false }), {}, 'beginLeave'],
    ['stays Failed while it is claimed', aMember('Failed', { isAdopting: false }), {}, 'Failed stay'],
    [
      'is forgotten immediately when deregistered',
      aMachine({ phase: 'Deregistering', deregisterRequestedAt: ago(1) }),
      {},
      'forget',
    ],
  ])('%s', (_what, wanted, seen, expected) => {
    expect(said(step(wanted, seen))).toBe(expected);
  });

  it('is named after its kind and number, and annotated as an adopted node', () => {
    expect(step(aMachine({ claim: aClaim() }))).toMatchObject({ nodeName: 'dedicated-321', cluster: aCluster() });
    expect(step(aMember('Joining'), { node: aNode({ labels: {}, annotations: {} }) })).toMatchObject({
      patch: nodePatch,
    });
  });

  it.each<[string, WantedServer, Partial<Seen>, string]>([
    ['no pool uses it', aMachine(), {}, 'NoNodePool'],
    ['the cluster cannot take nodes', aMachine({ claim: aClaim(asleep) }), {}, 'ClusterNotReady'],
    ['its command was not run', aMember('Joining'), { node: 'absent' }, 'MachineAwaited'],
    ['the node is not Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'NodeNotReady'],
    ['the cluster that it leaves is hibernated', aMember('Leaving', { claim: null }, asleep), {}, 'ClusterHibernated'],
  ])('reports in its operation that %s', (_what, wanted, seen, reason) => {
    const result = verdict(wanted, seen);

    expect(result.waiting).toEqual({ reason, message: result.message });
    expect(result.message).not.toBe('');
    expect(result.nextPassMs).toBeGreaterThan(0);
  });

  it('reports in its operation that the cluster does not answer, and keeps waiting', () => {
    const stand = { wanted: aMember('Joining'), now, times, random: 0 };

    const result = judgeClusterFailure(stand, 'readNode', {
      kind: 'unanswered',
      error: new GardenError('unreachable', 'get shoot nodes'),
    });

    expect(result).toMatchObject({ phase: 'Joining', operation: { to: 'running' } });
    expect(result.waiting).toMatchObject({ reason: 'ClusterUnavailable' });
  });

  it.each<[string, WantedServer]>([
    ['that it must be wiped after it has left', aMachine({ phase: 'Ready', isAdopting: false })],
    [
      'the same after it left during its adoption',
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
  ])('fails after a week of waiting for %s', (_what, wanted, seen) => {
    const result = verdict(wanted, seen);

    expect(result).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'server_never_joined' } });
    expect(result).toMatchObject({ message: 'The machine did not become a node within 168 hours.', waiting: null });
  });

  it('does not fail while its cluster is hibernated', () => {
    const wanted = aMember('Joining', { begunAt: ago(604_801) }, asleep);

    expect(said(step(wanted))).toBe('Joining running');
  });

  it('is checked when its time limit ends', () => {
    expect(verdict(aMachine({ acknowledgedAt: ago(604_790) })).nextPassMs).toBeLessThan(20_000);
  });

  it('is checked with growing delays of at most a minute', () => {
    const delayAfter = (seconds: number) =>
      verdict(aMember('Joining', { begunAt: ago(seconds) }), { node: 'absent' }).nextPassMs;

    expect([delayAfter(1), delayAfter(300), delayAfter(86_400)]).toEqual([5_000, 30_000, 60_000]);
  });
});
