import { describe, expect, it } from '@jest/globals';
import {
  aClaim,
  aCluster,
  ago,
  aMember,
  aNode,
  anAction,
  aServer,
  aWanted,
  marks,
  now,
  ready,
  said,
  second,
  times,
} from '../../test/support/a-server.js';
import { decide } from './decide.js';
import { nothingSeen, type Seen, type WantedServer } from './model.js';

type Row = [what: string, wanted: WantedServer, seen: Seen, expected: string];

const asleep = aCluster({ isAsleep: true, canTakeNodes: false });
const deleting = aCluster({ isDeleting: true, canTakeNodes: false });
const starting = aCluster({ canTakeNodes: false });
const other = aCluster({ id: 'other' });
const rejected = { id: 'c', phase: 'Rejected' } as const;
const running: Seen = { ...nothingSeen, action: anAction({ status: 'running' }) };
const withNode = (node: Seen['node'], more: Partial<Seen> = {}): Seen => ({ ...nothingSeen, node, ...more });

const stepOf = (wanted: WantedServer, seen: Seen) => decide(wanted, seen, now, times);
const verdictOf = (wanted: WantedServer, seen: Seen) => {
  const step = stepOf(wanted, seen);
  if (step.do !== 'settle') throw new Error(`It does not settle: ${step.do}`);
  return step.verdict;
};
const check = (...[, wanted, seen, expected]: Row) => expect(said(stepOf(wanted, seen))).toBe(expected);

describe('the next step of a Ready server', () => {
  const claimed = (cluster = aCluster(), more: Partial<WantedServer> = {}) =>
    aWanted({ phase: 'Ready', claim: aClaim(cluster), ...more });
  const idle = aWanted({ phase: 'Ready' });
  const labelled = (claim: string) => ({ ...nothingSeen, server: aServer({ labels: { 'corral.dev/claim': claim } }) });

  it.each<Row>([
    ['looks at the server', idle, nothingSeen, 'readServer'],
    ['rests when it is there', idle, ready, 'Ready stay'],
    ['misses it when it is gone', idle, { ...ready, server: 'absent' }, 'Missing stay'],
    ['puts a label back that was taken away', idle, { ...nothingSeen, server: aServer({ labels: {} }) }, 'putClaim'],
    ['leaves the label of somebody else', idle, labelled('theirs'), 'Ready stay'],
    ['reads its name before it joins', claimed(), nothingSeen, 'readServer'],
    ['joins the cluster that claims it', claimed(), ready, 'beginJoin'],
    ['does not join with the label of somebody else', claimed(), labelled('theirs'), 'Ready stay'],
    ['waits for a cluster that takes no nodes yet', claimed(starting), nothingSeen, 'Ready stay'],
    ['waits for a cluster that sleeps', claimed(asleep), nothingSeen, 'Ready stay'],
    ['is looked at once a day while it waits', claimed(asleep, { observedAt: ago(86_400) }), nothingSeen, 'readServer'],
    ['does not join over a rejected connection', claimed(aCluster(), { connection: rejected }), ready, 'Ready stay'],
    ['leaves first where it is a node', { ...idle, member: aCluster(), nodeName: 'web' }, nothingSeen, 'beginLeave'],
  ])('%s', check);

  it('looks again soon while it waits for a cluster, and says for what', () => {
    expect(verdictOf(claimed(asleep), nothingSeen)).toMatchObject({
      message: expect.stringContaining('hibernated'),
      lookAgainMs: 15_000,
    });
  });

  it.each([
    ['web', 'web'],
    ['Web-1.Example', 'web-1.example'],
    ['web_1', 'server-4711'],
    ['-web', 'server-4711'],
    ['w'.repeat(64), 'server-4711'],
    ['', 'server-4711'],
  ])('joins the server %j under the name %j', (name, nodeName) => {
    expect(stepOf(claimed(), { ...ready, server: aServer({ name }) })).toMatchObject({ do: 'beginJoin', nodeName });
  });
});

describe('the next step of a joining', () => {
  const joining = (more: Partial<WantedServer> = {}, cluster = aCluster()) => aMember('Joining', more, cluster);
  const asked = { rebuildAskedAt: new Date(second.getTime() - 20_000), imageId: 7 };
  const askedLongAgo = { rebuildAskedAt: ago(900), begunAt: ago(901) };
  const rebuilding = joining({ ...asked, rebuildActionId: 10 });
  const unclaimed = { claim: null };
  const moved = { claim: aClaim(other) };
  const rebuilt = { ...nothingSeen, action: anAction() };
  const up = { ...rebuilt, server: aServer({ imageId: 7 }) };

  it.each<Row>([
    ['looks at the server first', joining(), nothingSeen, 'readServer'],
    ['claims it', joining(), { ...ready, server: aServer({ labels: {} }) }, 'putClaim'],
    ['looks for the image', joining(), { ...ready, image: null }, 'findImage'],
    ['reads the actions', joining(), { ...ready, actions: null }, 'readActions'],
    ['has join data made', joining(), ready, 'prepareJoin'],
    ['reads the actions again after that', joining(), { ...ready, actions: null, joinUserData: 'x' }, 'readActions'],
    ['asks for the rebuild with it', joining(), { ...ready, joinUserData: 'x' }, 'askRebuild'],
    ['waits for a cluster that takes no nodes any more', joining({}, starting), ready, 'Joining stay'],
    [
      'fails with a protected server',
      joining(),
      { ...ready, server: aServer({ isRebuildProtected: true }) },
      'Failed stay',
    ],
    ['fails without the server', joining(), { ...ready, server: 'absent' }, 'Failed stay'],
    ['waits for a better token', joining({ connection: rejected }), nothingSeen, 'Joining stay'],
    ['leaves at once without a claim', joining(unclaimed), nothingSeen, 'beginLeave'],
    ['leaves at once when another cluster claims it', joining(moved), nothingSeen, 'beginLeave'],
    [
      'leaves at once without claim and token',
      joining({ ...unclaimed, connection: rejected }),
      nothingSeen,
      'beginLeave',
    ],
    ['leaves a cluster that is being deleted', joining({}, deleting), nothingSeen, 'beginLeave'],
    ['begins anew after a cluster fell asleep', joining({}, asleep), nothingSeen, 'beginLeave'],
    ['finds out about a lost answer before it leaves', joining({ ...asked, ...unclaimed }), nothingSeen, 'readActions'],
    ['waits until nothing can come of it before it leaves', joining({ ...asked, ...unclaimed }), ready, 'Joining stay'],
    ['waits for the end of its rebuild before it leaves', { ...rebuilding, ...moved }, running, 'Joining stay'],
    ['does so however long that takes', { ...rebuilding, ...moved, begunAt: ago(9_999) }, running, 'Joining stay'],
    ['leaves after the end of its rebuild', { ...rebuilding, ...moved }, rebuilt, 'beginLeave'],
    [
      'leaves also when that failed',
      { ...rebuilding, ...unclaimed },
      { ...nothingSeen, action: anAction({ status: 'error' }) },
      'beginLeave',
    ],
    ['reads the action', rebuilding, nothingSeen, 'readAction'],
    ['waits for its end', rebuilding, running, 'Joining stay'],
    ['fails with it', rebuilding, { ...nothingSeen, action: anAction({ status: 'error' }) }, 'Failed stay'],
    ['looks for the node after it', rebuilding, rebuilt, 'readNode'],
    ['awaits the node', rebuilding, { ...rebuilt, node: 'absent' }, 'Joining stay'],
    ['looks what a node runs from', rebuilding, { ...rebuilt, node: aNode() }, 'readServer'],
    [
      'fails when that is another image',
      rebuilding,
      { ...up, server: aServer({ imageId: 8 }), node: aNode() },
      'Failed stay',
    ],
    ['marks the node', rebuilding, { ...up, node: aNode({ annotations: {} }) }, 'markNode'],
    ['waits until it is Ready', rebuilding, { ...up, node: aNode({ isReady: false }) }, 'Joining stay'],
    ['ends what it joined with then', rebuilding, { ...up, node: aNode() }, 'endJoin'],
    ['is done then', rebuilding, { ...up, node: aNode(), joinEndedIn: 1 }, 'Joined stay'],
    [
      'is done when that is over by itself',
      { ...rebuilding, ...askedLongAgo },
      { ...up, node: aNode() },
      'Joined stay',
    ],
  ])('%s', check);

  it('ends with a node that is counted', () => {
    const seen = { ...up, node: aNode(), joinEndedIn: 1 };
    expect(verdictOf(rebuilding, seen)).toMatchObject({ nodeReady: true, lookAgainMs: 60_000 });
  });

  it('marks the node as none of the garden’s machines, and as one of its pool', () => {
    const step = stepOf(rebuilding, { ...up, node: aNode({ annotations: {}, labels: { zone: 'a' } }) });
    expect(step).toMatchObject({ do: 'markNode', marks });
  });

  it('fails, and says of what, when the node does not come in time', () => {
    const late = { ...rebuilding, begunAt: ago(1_801) };
    expect(verdictOf(late, { ...rebuilt, node: 'absent' })).toMatchObject({
      ...{ phase: 'Failed', nodeReady: false, lookAgainMs: null, operation: { to: 'stay' } },
      message: 'The node did not become Ready within 30 minutes. (server_join_timeout)',
    });
  });
});

describe('the next step of a node', () => {
  const joined = (more: Partial<WantedServer> = {}, cluster = aCluster()) => aMember('Joined', more, cluster);
  const overdue = joined({ observedAt: ago(86_400) });
  const renamed = joined({ claim: aClaim(aCluster(), 'gold') });

  it.each<Row>([
    ['looks at the node', joined(), nothingSeen, 'readNode'],
    ['marks it when somebody took the marks away', joined(), withNode(aNode({ labels: {} })), 'markNode'],
    ['marks it for another pool of the cluster', renamed, withNode(aNode()), 'markNode'],
    ['rests', joined(), withNode(aNode()), 'Joined stay'],
    ['asks the provider once a day', overdue, withNode(aNode()), 'readServer'],
    ['asks no provider that rejects the token', { ...overdue, connection: rejected }, withNode(aNode()), 'Joined stay'],
    ['puts the claim label back', overdue, withNode(aNode(), { server: aServer({ labels: {} }) }), 'putClaim'],
    ['misses the server', overdue, withNode('absent', { server: 'absent' }), 'Missing stay'],
    ['asks no cluster that sleeps', joined({}, asleep), nothingSeen, 'Joined stay'],
    ['leaves without a claim', joined({ claim: null }), nothingSeen, 'beginLeave'],
    ['leaves for another cluster', joined({ claim: aClaim(other) }), nothingSeen, 'beginLeave'],
    ['leaves a cluster that is being deleted', joined({}, deleting), nothingSeen, 'beginLeave'],
    ['leaves a cluster that is gone', joined({ claim: null, member: null }), nothingSeen, 'beginLeave'],
    ['is there again', aMember('Missing'), ready, 'Joined stay'],
    ['is still missed', aMember('Missing'), { ...nothingSeen, server: 'absent' }, 'Missing stay'],
    ['leaves also while it is missed', aMember('Missing', { claim: null }), nothingSeen, 'beginLeave'],
    ['stays failed while it is claimed', aMember('Failed'), nothingSeen, 'Failed stay'],
    ['leaves once it is not', aMember('Failed', { claim: null }), nothingSeen, 'beginLeave'],
    [
      'leaves not before it is known that no rebuild is on its way',
      aMember('Failed', { claim: null, rebuildAskedAt: ago(10) }),
      nothingSeen,
      'readActions',
    ],
  ])('%s', check);

  it.each<[string, WantedServer, Seen, string, boolean]>([
    ['well', joined(), withNode(aNode()), '', true],
    ['not Ready', joined(), withNode(aNode({ isReady: false })), 'The node is not Ready.', false],
    ['gone', joined(), withNode('absent'), 'The cluster no longer has the node.', false],
    [
      'asleep',
      joined({}, asleep),
      nothingSeen,
      'The cluster is hibernated, so the state of the node is unknown.',
      false,
    ],
  ])('tells when it is %s, and looks again in a minute', (_what, wanted, seen, message, nodeReady) => {
    expect(verdictOf(wanted, seen)).toMatchObject({ message, nodeReady, lookAgainMs: 60_000 });
  });

  it('keeps saying what a server failed of', () => {
    expect(verdictOf(aMember('Failed', { message: 'No.' }), nothingSeen)).toMatchObject({ message: 'No.' });
  });

  it('is to be adopted again when it comes back unclean', () => {
    const back = aWanted({ phase: 'Missing', purpose: 'leave' });
    expect(said(stepOf(back, ready))).toBe('Failed stay');
    expect(said(stepOf({ ...back, rebuildActionId: 3 }, ready))).toBe('Ready stay');
  });
});

describe('the next step of a leaving', () => {
  const leaving = (more: Partial<WantedServer> = {}, cluster = aCluster()) =>
    aMember('Leaving', { purpose: 'leave', claim: null, ...more }, cluster);
  const cordoned = aNode({ isUnschedulable: true });
  const gone: Seen = { ...ready, node: 'absent' };
  const late = leaving({ begunAt: ago(600) });
  const rebuilding = leaving({ rebuildAskedAt: ago(20), rebuildActionId: 10, imageId: 7 });
  const clean: Seen = { ...nothingSeen, action: anAction(), server: aServer({ imageId: 7 }) };

  it.each<Row>([
    ['looks for the node', leaving(), ready, 'readNode'],
    ['keeps new pods away', leaving(), withNode(aNode()), 'cordon'],
    ['drains it', leaving(), withNode(cordoned), 'evict'],
    ['waits for its pods', leaving(), withNode(cordoned, { podsLeft: 2 }), 'Leaving stay'],
    ['deletes the node when none is left', leaving(), withNode(cordoned, { podsLeft: 0 }), 'deleteNode'],
    ['deletes it with what is left when the time is over', late, withNode(cordoned, { podsLeft: 2 }), 'deleteNode'],
    ['asks its pods to go all the same', late, withNode(cordoned), 'evict'],
    ['waits while the cluster sleeps', leaving({}, asleep), nothingSeen, 'Leaving stay'],
    ['drains nothing of a cluster that is being deleted', leaving({}, deleting), ready, 'askRebuild'],
    ['drains nothing of a cluster that is gone', leaving({ member: null }), ready, 'askRebuild'],
    ['drains also without a usable token', leaving({ connection: rejected }), nothingSeen, 'readNode'],
    ['waits for one then', leaving({ connection: rejected }), gone, 'Leaving stay'],
    ['reads the server', leaving(), withNode('absent'), 'readServer'],
    ['asks for a rebuild without join data', leaving(), gone, 'askRebuild'],
    [
      'fails with a protected server',
      leaving(),
      { ...gone, server: aServer({ isRebuildProtected: true }) },
      'Failed stay',
    ],
    ['waits for the end of the rebuild', rebuilding, running, 'Leaving stay'],
    ['looks for the node once more', rebuilding, clean, 'readNode'],
    ['deletes one that came back meanwhile', rebuilding, { ...clean, node: aNode() }, 'deleteNode'],
    ['is done', rebuilding, { ...clean, node: 'absent' }, 'Ready stay'],
    ['is done without a look at a cluster that is gone', { ...rebuilding, member: null }, clean, 'Ready stay'],
    ['begins anew when the server went away', rebuilding, { ...clean, server: 'absent' }, 'beginLeave'],
    ['has nothing to rebuild without the server', leaving(), { ...gone, server: 'absent' }, 'Missing stay'],
  ])('%s', check);

  it('ends the membership with the clean rebuild, and not before', () => {
    const done = { ...clean, node: 'absent' } as const;
    expect(verdictOf(rebuilding, done)).toMatchObject({ endsMembership: true, nodeReady: false });
    expect(verdictOf({ ...rebuilding, claim: aClaim(other) }, done)).toMatchObject({ lookAgainMs: 0 });
    expect(verdictOf(leaving(), { ...gone, server: 'absent' })).toMatchObject({ endsMembership: true });
    expect(verdictOf(rebuilding, running)).toMatchObject({ endsMembership: false });
  });

  it('has no time limit', () => {
    expect(verdictOf({ ...rebuilding, begunAt: ago(999_999) }, running)).toMatchObject({ phase: 'Leaving' });
  });
});
