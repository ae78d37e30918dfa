import { asClusterId, asConnectionId } from '@corral/contracts';
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
  nodePatch,
  now,
  ready,
  said,
  second,
  times,
} from '../../../test/support/a-server.js';
import { nothingSeen, type Seen, type WantedServer } from '../model.js';
import { decide } from './decide.js';

type Row = [what: string, wanted: WantedServer, seen: Seen, expected: string];

const asleep = aCluster({ isHibernated: true, canTakeNodes: false });
const deleting = aCluster({ isDeleting: true, canTakeNodes: false });
const starting = aCluster({ canTakeNodes: false });
const other = aCluster({ id: asClusterId('other') });
const rejected = { id: asConnectionId('c'), phase: 'Rejected' } as const;
const running: Seen = { ...nothingSeen, action: anAction({ status: 'running' }) };
const withNode = (node: Seen['node'], more: Partial<Seen> = {}): Seen => ({ ...nothingSeen, node, ...more });

const stepOf = (wanted: WantedServer, seen: Seen) => decide(wanted, seen, now, times);
const verdictOf = (wanted: WantedServer, seen: Seen) => {
  const step = stepOf(wanted, seen);
  if (step.do !== 'finish') throw new Error(`It does not finish: ${step.do}`);
  return step.verdict;
};
const check = (...[, wanted, seen, expected]: Row) => expect(said(stepOf(wanted, seen))).toBe(expected);

describe('the next step of a Ready server', () => {
  const claimed = (cluster = aCluster(), more: Partial<WantedServer> = {}) =>
    aWanted({ phase: 'Ready', claim: aClaim(cluster), ...more });
  const idle = aWanted({ phase: 'Ready' });
  const labelled = (claim: string) => ({ ...nothingSeen, server: aServer({ labels: { 'corral.dev/claim': claim } }) });

  it.each<Row>([
    ['reads the server', idle, nothingSeen, 'readServer'],
    ['settles when it exists', idle, ready, 'Ready stay'],
    ['reports it as Missing when it is gone', idle, { ...ready, server: 'absent' }, 'Missing stay'],
    ['restores a removed label', idle, { ...nothingSeen, server: aServer({ labels: {} }) }, 'putLabel'],
    ['keeps a foreign claim label', idle, labelled('theirs'), 'Ready stay'],
    ['reads its name before it joins', claimed(), nothingSeen, 'readServer'],
    ['joins the cluster that claims it', claimed(), ready, 'beginJoin'],
    ['does not join with a foreign claim label', claimed(), labelled('theirs'), 'Ready stay'],
    ['waits for a cluster that cannot take nodes yet', claimed(starting), nothingSeen, 'Ready stay'],
    ['waits for a hibernated cluster', claimed(asleep), nothingSeen, 'Ready stay'],
    [
      'reads the server once a day while it waits',
      claimed(asleep, { observedAt: ago(86_400) }),
      nothingSeen,
      'readServer',
    ],
    ['does not join over a rejected connection', claimed(aCluster(), { connection: rejected }), ready, 'Ready stay'],
    [
      'leaves first when it is still a node',
      { ...idle, currentCluster: aCluster(), nodeName: 'web' },
      nothingSeen,
      'beginLeave',
    ],
  ])('%s', check);

  it('plans the next pass soon while it waits for a cluster, and says why', () => {
    expect(verdictOf(claimed(asleep), nothingSeen)).toMatchObject({
      message: expect.stringContaining('hibernated'),
      nextPassMs: 15_000,
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

describe('the next step of a joining server', () => {
  const joining = (more: Partial<WantedServer> = {}, cluster = aCluster()) => aMember('Joining', more, cluster);
  const asked = { rebuildAskedAt: new Date(second.getTime() - 20_000), imageId: 7 };
  const askedLongAgo = { rebuildAskedAt: ago(900), begunAt: ago(901) };
  const rebuilding = joining({ ...asked, rebuildActionId: 10 });
  const unclaimed = { claim: null };
  const moved = { claim: aClaim(other) };
  const rebuilt = { ...nothingSeen, action: anAction() };
  const up = { ...rebuilt, server: aServer({ imageId: 7 }) };

  it.each<Row>([
    ['reads the server first', joining(), nothingSeen, 'readServer'],
    ['claims it', joining(), { ...ready, server: aServer({ labels: {} }) }, 'putLabel'],
    ['looks for the image', joining(), { ...ready, image: null }, 'findImage'],
    ['reads the actions', joining(), { ...ready, actions: null }, 'readActions'],
    ['prepares join data', joining(), ready, 'prepareJoin'],
    [
      'reads the actions again after the join data',
      joining(),
      { ...ready, actions: null, joinUserData: 'x' },
      'readActions',
    ],
    ['requests the rebuild with the join data', joining(), { ...ready, joinUserData: 'x' }, 'requestRebuild'],
    ['waits for a cluster that can no longer take nodes', joining({}, starting), ready, 'Joining stay'],
    [
      'fails with a protected server',
      joining(),
      { ...ready, server: aServer({ isRebuildProtected: true }) },
      'Failed stay',
    ],
    ['fails without the server', joining(), { ...ready, server: 'absent' }, 'Failed stay'],
    ['waits while the token is rejected', joining({ connection: rejected }), nothingSeen, 'Joining stay'],
    ['leaves immediately without a claim', joining(unclaimed), nothingSeen, 'beginLeave'],
    ['leaves immediately when another cluster claims it', joining(moved), nothingSeen, 'beginLeave'],
    [
      'leaves immediately without claim and token',
      joining({ ...unclaimed, connection: rejected }),
      nothingSeen,
      'beginLeave',
    ],
    ['leaves a cluster that is being deleted', joining({}, deleting), nothingSeen, 'beginLeave'],
    ['starts over after its cluster was hibernated', joining({}, asleep), nothingSeen, 'beginLeave'],
    [
      'looks for the outcome of a lost response before it leaves',
      joining({ ...asked, ...unclaimed }),
      nothingSeen,
      'readActions',
    ],
    [
      'waits until a lost request can no longer arrive before it leaves',
      joining({ ...asked, ...unclaimed }),
      ready,
      'Joining stay',
    ],
    ['waits for the end of its rebuild before it leaves', { ...rebuilding, ...moved }, running, 'Joining stay'],
    ['waits for that without a time limit', { ...rebuilding, ...moved, begunAt: ago(9_999) }, running, 'Joining stay'],
    ['leaves after the end of its rebuild', { ...rebuilding, ...moved }, rebuilt, 'beginLeave'],
    [
      'leaves after a failed rebuild too',
      { ...rebuilding, ...unclaimed },
      { ...nothingSeen, action: anAction({ status: 'error' }) },
      'beginLeave',
    ],
    ['reads the action', rebuilding, nothingSeen, 'readAction'],
    ['waits for the end of the action', rebuilding, running, 'Joining stay'],
    ['fails with the action', rebuilding, { ...nothingSeen, action: anAction({ status: 'error' }) }, 'Failed stay'],
    ['reads the node after the action', rebuilding, rebuilt, 'readNode'],
    ['awaits the node', rebuilding, { ...rebuilt, node: 'absent' }, 'Joining stay'],
    ['checks the image of a registered node', rebuilding, { ...rebuilt, node: aNode() }, 'readServer'],
    [
      'fails when it runs another image',
      rebuilding,
      { ...up, server: aServer({ imageId: 8 }), node: aNode() },
      'Failed stay',
    ],
    ['labels and annotates the node', rebuilding, { ...up, node: aNode({ annotations: {} }) }, 'patchNode'],
    ['waits until the node is Ready', rebuilding, { ...up, node: aNode({ isReady: false }) }, 'Joining stay'],
    ['deletes the join token when the node is Ready', rebuilding, { ...up, node: aNode() }, 'endJoin'],
    ['is Joined after that', rebuilding, { ...up, node: aNode(), joinEndedIn: 1 }, 'Joined stay'],
    [
      'is Joined when the token has expired',
      { ...rebuilding, ...askedLongAgo },
      { ...up, node: aNode() },
      'Joined stay',
    ],
  ])('%s', check);

  it('reports the node as ready when it ends', () => {
    const seen = { ...up, node: aNode(), joinEndedIn: 1 };
    expect(verdictOf(rebuilding, seen)).toMatchObject({ nodeReady: true, nextPassMs: 60_000 });
  });

  it('annotates the node as not managed by the garden, and with its pool', () => {
    const step = stepOf(rebuilding, { ...up, node: aNode({ annotations: {}, labels: { zone: 'a' } }) });
    expect(step).toMatchObject({ do: 'patchNode', patch: nodePatch });
  });

  it('fails with a reason when the node does not register in time', () => {
    const late = { ...rebuilding, begunAt: ago(1_801) };
    expect(verdictOf(late, { ...rebuilt, node: 'absent' })).toMatchObject({
      phase: 'Failed',
      nodeReady: false,
      nextPassMs: null,
      operation: { to: 'stay' },
      message: 'The node did not become Ready within 30 minutes. (server_join_timeout)',
    });
  });
});

describe('the next step of a node', () => {
  const joined = (more: Partial<WantedServer> = {}, cluster = aCluster()) => aMember('Joined', more, cluster);
  const overdue = joined({ observedAt: ago(86_400) });
  const renamed = joined({ claim: aClaim(aCluster(), 'gold') });

  it.each<Row>([
    ['reads the node', joined(), nothingSeen, 'readNode'],
    ['restores removed labels and annotations', joined(), withNode(aNode({ labels: {} })), 'patchNode'],
    ['updates the label for another pool of the cluster', renamed, withNode(aNode()), 'patchNode'],
    ['settles when nothing is to do', joined(), withNode(aNode()), 'Joined stay'],
    ['asks the provider once a day', overdue, withNode(aNode()), 'readServer'],
    ['asks no provider that rejects the token', { ...overdue, connection: rejected }, withNode(aNode()), 'Joined stay'],
    ['puts the claim label back', overdue, withNode(aNode(), { server: aServer({ labels: {} }) }), 'putLabel'],
    ['reports a missing server', overdue, withNode('absent', { server: 'absent' }), 'Missing stay'],
    ['asks no hibernated cluster', joined({}, asleep), nothingSeen, 'Joined stay'],
    ['leaves without a claim', joined({ claim: null }), nothingSeen, 'beginLeave'],
    ['leaves for another cluster', joined({ claim: aClaim(other) }), nothingSeen, 'beginLeave'],
    ['leaves a cluster that is being deleted', joined({}, deleting), nothingSeen, 'beginLeave'],
    ['leaves a cluster that is gone', joined({ claim: null, currentCluster: null }), nothingSeen, 'beginLeave'],
    ['is Joined when a missing server is back', aMember('Missing'), ready, 'Joined stay'],
    [
      'stays Missing while the server is absent',
      aMember('Missing'),
      { ...nothingSeen, server: 'absent' },
      'Missing stay',
    ],
    ['leaves while it is Missing too', aMember('Missing', { claim: null }), nothingSeen, 'beginLeave'],
    ['stays Failed while it is claimed', aMember('Failed'), nothingSeen, 'Failed stay'],
    ['leaves when it is Failed and no longer claimed', aMember('Failed', { claim: null }), nothingSeen, 'beginLeave'],
    [
      'does not leave while a rebuild may be in progress',
      aMember('Failed', { claim: null, rebuildAskedAt: ago(10) }),
      nothingSeen,
      'readActions',
    ],
  ])('%s', check);

  it.each<[string, WantedServer, Seen, string, boolean]>([
    ['Ready', joined(), withNode(aNode()), '', true],
    ['not Ready', joined(), withNode(aNode({ isReady: false })), 'The node is not Ready.', false],
    ['gone', joined(), withNode('absent'), 'The cluster no longer has the node.', false],
    [
      'of a hibernated cluster',
      joined({}, asleep),
      nothingSeen,
      'The cluster is hibernated, so the state of the node is unknown.',
      false,
    ],
  ])('reports a node that is %s, and plans the next pass in a minute', (_what, wanted, seen, message, nodeReady) => {
    expect(verdictOf(wanted, seen)).toMatchObject({ message, nodeReady, nextPassMs: 60_000 });
  });

  it('keeps the message of a failed server', () => {
    expect(verdictOf(aMember('Failed', { message: 'No.' }), nothingSeen)).toMatchObject({ message: 'No.' });
  });

  it('must be adopted again when it returns without a clean rebuild', () => {
    const back = aWanted({ phase: 'Missing', purpose: 'leave' });
    expect(said(stepOf(back, ready))).toBe('Failed stay');
    expect(said(stepOf({ ...back, rebuildActionId: 3 }, ready))).toBe('Ready stay');
  });
});

describe('the next step of a leaving server', () => {
  const leaving = (more: Partial<WantedServer> = {}, cluster = aCluster()) =>
    aMember('Leaving', { purpose: 'leave', claim: null, ...more }, cluster);
  const cordoned = aNode({ isUnschedulable: true });
  const gone: Seen = { ...ready, node: 'absent' };
  const late = leaving({ begunAt: ago(600) });
  const rebuilding = leaving({ rebuildAskedAt: ago(20), rebuildActionId: 10, imageId: 7 });
  const clean: Seen = { ...nothingSeen, action: anAction(), server: aServer({ imageId: 7 }) };

  it.each<Row>([
    ['reads the node', leaving(), ready, 'readNode'],
    ['cordons the node', leaving(), withNode(aNode()), 'cordon'],
    ['drains the node', leaving(), withNode(cordoned), 'evict'],
    ['waits for its pods', leaving(), withNode(cordoned, { podsLeft: 2 }), 'Leaving stay'],
    ['deletes the node when none is left', leaving(), withNode(cordoned, { podsLeft: 0 }), 'deleteNode'],
    [
      'deletes the node with its remaining pods after the drain time',
      late,
      withNode(cordoned, { podsLeft: 2 }),
      'deleteNode',
    ],
    ['evicts pods even after the drain time', late, withNode(cordoned), 'evict'],
    ['waits while the cluster is hibernated', leaving({}, asleep), nothingSeen, 'Leaving stay'],
    ['drains nothing of a cluster that is being deleted', leaving({}, deleting), ready, 'requestRebuild'],
    ['drains nothing of a cluster that is gone', leaving({ currentCluster: null }), ready, 'requestRebuild'],
    ['drains even with a rejected token', leaving({ connection: rejected }), nothingSeen, 'readNode'],
    ['waits for a valid token after the drain', leaving({ connection: rejected }), gone, 'Leaving stay'],
    ['reads the server', leaving(), withNode('absent'), 'readServer'],
    ['requests a rebuild without join data', leaving(), gone, 'requestRebuild'],
    [
      'fails with a protected server',
      leaving(),
      { ...gone, server: aServer({ isRebuildProtected: true }) },
      'Failed stay',
    ],
    ['waits for the end of the rebuild', rebuilding, running, 'Leaving stay'],
    ['reads the node once more after the rebuild', rebuilding, clean, 'readNode'],
    ['deletes a node that registered again', rebuilding, { ...clean, node: aNode() }, 'deleteNode'],
    ['is Ready after that', rebuilding, { ...clean, node: 'absent' }, 'Ready stay'],
    ['is Ready without asking a cluster that is gone', { ...rebuilding, currentCluster: null }, clean, 'Ready stay'],
    ['starts over when the server disappeared', rebuilding, { ...clean, server: 'absent' }, 'beginLeave'],
    ['is Missing without the server', leaving(), { ...gone, server: 'absent' }, 'Missing stay'],
  ])('%s', check);

  it('leaves the cluster only with the clean rebuild', () => {
    const done = { ...clean, node: 'absent' } as const;
    expect(verdictOf(rebuilding, done)).toMatchObject({ hasLeftCluster: true, nodeReady: false });
    expect(verdictOf({ ...rebuilding, claim: aClaim(other) }, done)).toMatchObject({ nextPassMs: 0 });
    expect(verdictOf(leaving(), { ...gone, server: 'absent' })).toMatchObject({ hasLeftCluster: true });
    expect(verdictOf(rebuilding, running)).toMatchObject({ hasLeftCluster: false });
  });

  it('has no time limit', () => {
    expect(verdictOf({ ...rebuilding, begunAt: ago(999_999) }, running)).toMatchObject({ phase: 'Leaving' });
  });
});
