import { asClusterId, asConnectionId } from '@corral/contracts';
import { GardenError } from '@corral/garden';
import type { ServerAction } from '@corral/hcloud';
import { describe, expect, it } from '@jest/globals';
import {
  aClaim,
  aCluster,
  acted,
  ago,
  aMember,
  aNode,
  anAction,
  aServer,
  aWanted,
  having,
  nodePatch,
  now,
  ready,
  said,
  second,
  times,
} from '../../../test/support/a-server.js';
import { judgeClusterFailure, judgeProviderFailure, waitingSince } from '../judge.js';
import { nothingSeen, type Seen, type Step, type Verdict, type WantedServer } from '../model.js';
import { decide } from './decide.js';

const rejected = { id: asConnectionId('c'), phase: 'Rejected' } as const;
const asleep = aCluster({ isHibernated: true, canTakeNodes: false });
const deleting = aCluster({ isDeleting: true, canTakeNodes: false });
const starting = aCluster({ canTakeNodes: false });
const other = aCluster({ id: asClusterId('other') });

type Row = [what: string, wanted: WantedServer, seen: Partial<Seen>, expected: string];
const stepOf = (wanted: WantedServer, seen: Partial<Seen> = {}): Step =>
  decide(wanted, { ...nothingSeen, ...seen }, now, times);
const verdictOf = (wanted: WantedServer, seen: Partial<Seen> = {}): Verdict => {
  const step = stepOf(wanted, seen);
  if (step.do !== 'finish') throw new Error(`It does not finish: ${step.do}`);
  return step.verdict;
};
const check = (...[, wanted, seen, expected]: Row) => expect(said(stepOf(wanted, seen))).toBe(expected);

describe('adoption', () => {
  const asked = (more: Partial<WantedServer> = {}) =>
    aWanted({ phase: 'Rebuilding', rebuildAskedAt: new Date(second.getTime() - 20_000), imageId: 7, ...more });
  const askedAgo = (seconds: number) => asked({ rebuildAskedAt: new Date(second.getTime() - seconds * 1_000) });
  const rebuilding = asked({ rebuildActionId: 10 });
  const late = aWanted({ acknowledgedAt: ago(3_601) });
  const unknown: Seen = { ...nothingSeen, action: 'absent', server: aServer({ imageId: 7 }) };

  const busy = (action: Partial<ServerAction>): Seen => ({
    ...ready,
    actions: { list: [anAction(action)], at: second },
  });

  describe('the next step of an adoption', () => {
    it.each<Row>([
      ['reads the server first', aWanted(), nothingSeen, 'readServer'],
      ['claims it', aWanted(), having({ labels: { env: 'prod' } }), 'putLabel'],
      ['records the label once it was read back', aWanted({ labelledAt: null }), ready, 'recordLabel'],
      ['looks for the image', aWanted(), { ...ready, image: null }, 'findImage'],
      ['reads the actions', aWanted(), { ...ready, actions: null }, 'readActions'],
      ['requests the rebuild', aWanted(), ready, 'requestRebuild'],
      ['requests no rebuild in the second of another one', aWanted(), busy({ startedAt: second }), 'Adopting running'],
      ['waits for another action', aWanted(), busy({ command: 'resize', status: 'running' }), 'Adopting running'],
      ['waits while the server is locked', aWanted(), having({ isLocked: true }), 'Adopting running'],
      ['fails when a lock does not end in time', late, having({ isLocked: true }), 'Failed failed server_locked'],
      ['fails if protected', aWanted(), having({ isRebuildProtected: true }), 'Failed failed server_protected'],
      ['fails in rescue', aWanted(), having({ isInRescue: true }), 'Failed failed server_in_rescue'],
      ['fails with an ISO', aWanted(), having({ hasIso: true }), 'Failed failed server_iso_mounted'],
      ['fails if it differs', aWanted(), having({ serverType: 'cx52' }), 'Failed failed server_changed'],
      ['fails without the server', aWanted(), { ...ready, server: 'absent' }, 'Failed failed server_gone'],
      ['fails without an image', aWanted(), { ...ready, image: 'absent' }, 'Failed failed server_image_missing'],
      ['fails when the disk is too small', aWanted(), having({ diskGb: 4 }), 'Failed failed server_disk_too_small'],
      ['fails without a token', aWanted({ connection: rejected }), nothingSeen, 'Failed failed server_token_rejected'],
      ['waits for a valid token after the request', asked({ connection: rejected }), nothingSeen, 'Rebuilding running'],
      ['reads the actions first after a lost response', asked(), { ...ready, actions: null }, 'readActions'],
      ['takes over a later rebuild', asked(), busy({ startedAt: ago(20) }), 'recordAction'],
      ['does not adopt an earlier rebuild, and waits', asked(), ready, 'Rebuilding running'],
      ['requests again after the grace period', askedAgo(61), ready, 'forgetRequest'],
      ['does not request again a second earlier', askedAgo(60), ready, 'Rebuilding running'],
      ['polls the action', rebuilding, ready, 'readAction'],
      ['waits for the end of the action', rebuilding, acted({ status: 'running', progress: 50 }), 'Rebuilding running'],
      ['fails with the action', rebuilding, acted({ status: 'error' }), 'Failed failed server_rebuild_failed'],
      ['reads the server after the action', rebuilding, acted(), 'readServer'],
      ['succeeds when the server runs the image', rebuilding, acted({}, { imageId: 7 }), 'Ready succeeded'],
      ['succeeds when the action is unknown', rebuilding, unknown, 'Ready succeeded'],
      ['fails with another image', rebuilding, acted({}, { imageId: 8 }), 'Failed failed server_rebuild_failed'],
      ['waits while the server is still locked', rebuilding, acted({}, { isLocked: true }), 'Rebuilding running'],
      ['does nothing after a failure', aWanted({ phase: 'Failed' }), nothingSeen, 'Failed stay'],
    ])('%s', check);

    it('keeps foreign labels, and replaces no foreign claim', () => {
      const step = decide(aWanted(), having({ labels: { env: 'prod' } }), now, times);
      expect(step).toEqual({ do: 'putLabel', labels: { env: 'prod', 'corral.dev/claim': 'ours' } });

      const theirs = aServer({ labels: { 'corral.dev/claim': 'theirs' } });
      expect(said(decide(aWanted(), { ...ready, server: theirs }, now, times))).toBe(
        'Failed failed server_claimed_elsewhere',
      );
    });
  });

  describe('the next step of a deregistration', () => {
    const leaving = aWanted({ phase: 'Deregistering', deregisterRequestedAt: ago(1) });

    it.each<Row>([
      ['reads the server', leaving, nothingSeen, 'readServer'],
      ['removes our label', leaving, ready, 'removeLabel'],
      ['keeps a foreign label', leaving, having({ labels: { 'corral.dev/claim': 'x' } }), 'forget'],
      ['ends without the server', leaving, { ...ready, server: 'absent' }, 'forget'],
      ['ends without a token', { ...leaving, connection: rejected }, nothingSeen, 'forget'],
      ['ends after a day of refusals', { ...leaving, deregisterRequestedAt: ago(86_401) }, nothingSeen, 'forget'],
      ['requests no rebuild', { ...asked(), deregisterRequestedAt: ago(1) }, ready, 'removeLabel'],
    ])('%s', check);
  });

  describe('a failure of the provider', () => {
    const verdictOf = (
      failure: Parameters<typeof judgeProviderFailure>[2],
      step: Step['do'] = 'requestRebuild',
      wanted = aWanted(),
    ) => judgeProviderFailure({ wanted, now, times, random: 0 }, step, failure);

    const refused = (code: string) => ({ kind: 'refused', status: 423, code }) as const;
    const readOnly = { kind: 'credentials_refused', status: 401, code: 'token_readonly' } as const;

    it.each<[string, Parameters<typeof judgeProviderFailure>[2], Step['do'], string]>([
      ['a protection', refused('protected'), 'requestRebuild', 'Failed failed server_protected'],
      ['another refusal', refused('invalid_input'), 'requestRebuild', 'Failed failed server_rebuild_refused'],
      ['a token that may only read', readOnly, 'putLabel', 'Failed failed server_token_rejected'],
      ['a missing server', { kind: 'absent' }, 'putLabel', 'Failed failed server_gone'],
      ['no lock', refused('locked'), 'requestRebuild', 'Adopting running'],
      ['no refused read', refused('protected'), 'readServer', 'Adopting running'],
    ])('ends an adoption if it is %s', (_what, failure, step, expected) => {
      expect(said({ do: 'finish', verdict: verdictOf(failure, step) })).toBe(expected);
    });

    it('has a start, which stays while its reason does', () => {
      const known = { reason: 'ServerBusy', message: '', since: '2026-01-01T00:00:00.000Z' } as const;
      const since = (reason: 'ServerBusy' | 'ProviderUnavailable') =>
        waitingSince({ reason, message: 'x' }, known, now)?.since;

      expect([since('ServerBusy'), since('ProviderUnavailable')]).toEqual([known.since, now.toISOString()]);
    });

    it('is retried with growing delays', () => {
      const waits = [0, 1, 2, 10].map((failures) => {
        const wanted = aWanted({ failures });
        return verdictOf({ kind: 'uncertain', reason: '500' }, 'readServer', wanted).nextPassMs;
      });
      expect(waits).toEqual([1_000, 2_000, 4_000, 60_000]);
    });

    it('requests a token verification and ends nothing when the token is refused', () => {
      const verdict = verdictOf({ kind: 'credentials_refused', status: 401, code: 'unauthorized' });
      expect(verdict).toMatchObject({ phase: 'Adopting', doubtsToken: true, operation: { to: 'running' } });
    });
  });
});

describe('a machine that Corral cannot rebuild', () => {
  /** A machine with an acknowledged adoption and no use yet. */
  const aMachine = (more: Partial<WantedServer> = {}): WantedServer =>
    aWanted({ kind: 'dedicated', serverId: 321, labelledAt: null, observedAt: null, ...more });
  /** A machine claimed by a cluster, and its node or about to join. */
  const aMember = (
    phase: WantedServer['phase'],
    more: Partial<WantedServer> = {},
    cluster = aCluster(),
  ): WantedServer =>
    aMachine({
      phase,
      purpose: 'join',
      claim: aClaim(cluster),
      currentCluster: cluster,
      nodeName: 'dedicated-321',
      ...more,
    });
  const leaving = (more: Partial<WantedServer> = {}, cluster = aCluster()) =>
    aMember('Leaving', { claim: null, ...more }, cluster);
  const adopted = { isAdopting: false };
  const cordoned = aNode({ isUnschedulable: true });

  const leftMessage = verdictOf(leaving(), { node: 'absent', joinEndedIn: 1 }).message;
  const wipe = expect.stringContaining('must wipe it');

  it.each<Row>([
    ['stays in adoption while no pool uses it', aMachine(), {}, 'Adopting running'],
    ['waits for a cluster that cannot take nodes yet', aMachine({ claim: aClaim(asleep) }), {}, 'Adopting running'],
    ['joins the cluster that claims it', aMachine({ claim: aClaim() }), {}, 'beginJoin'],
    ['joins after it was Ready', aMachine({ phase: 'Ready', isAdopting: false, claim: aClaim() }), {}, 'beginJoin'],
    ['leaves an old cluster when acknowledged', aMachine({ nodeName: 'x', currentCluster: other }), {}, 'beginLeave'],
    ['is looked up in the cluster that it joins', aMember('Joining'), {}, 'readNode'],
    ['is awaited', aMember('Joining'), { node: 'absent' }, 'Joining running'],
    ['waits for a cluster that was hibernated', aMember('Joining', {}, asleep), {}, 'Joining running'],
    ['does not join a cluster that no longer claims it', aMember('Joining', { claim: null }), {}, 'beginLeave'],
    ['does not join when another cluster claims it', aMember('Joining', { claim: aClaim(other) }), {}, 'beginLeave'],
    ['gets its labels', aMember('Joining'), { node: aNode({ labels: {}, annotations: {} }) }, 'patchNode'],
    ['is awaited until it is Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'Joining running'],
    ['deletes its token after it joined', aMember('Joining'), { node: aNode() }, 'endJoin'],
    ['succeeds when it is a node', aMember('Joining'), { node: aNode(), joinEndedIn: 1 }, 'Joined succeeded'],
    [
      'ends no operation when it joins again',
      aMember('Joining', { isAdopting: false }),
      { node: aNode(), joinEndedIn: 1 },
      'Joined stay',
    ],
    ['is checked as a node', aMember('Joined'), {}, 'readNode'],
    ['is a node, unseen by a provider', aMember('Joined', { observedAt: null }), { node: aNode() }, 'Joined stay'],
    ['is a node without a token', aMember('Joined', { connection: rejected }), { node: aNode() }, 'Joined stay'],
    ['leaves without a claim', aMember('Joined', { claim: null }), {}, 'beginLeave'],
    ['is cordoned before it leaves', leaving(), { node: aNode() }, 'cordon'],
    ['is drained after the cordon', leaving(), { node: aNode({ isUnschedulable: true }), podsLeft: null }, 'evict'],
    ['ends its Node after the drain', leaving(), { node: cordoned, podsLeft: 0 }, 'deleteNode'],
    ['deletes its tokens after its Node', leaving(), { node: 'absent' }, 'endJoin'],
    ['is Ready after it has left', leaving({ isAdopting: false }), { node: 'absent', joinEndedIn: 1 }, 'Ready stay'],
    ['stays in adoption when it never was a node', leaving(), { node: 'absent', joinEndedIn: 1 }, 'Adopting running'],
    ['has left when its cluster is being deleted', leaving(adopted, deleting), {}, 'Ready stay'],
    ['has left when its cluster is gone', leaving({ currentCluster: null, isAdopting: false }), {}, 'Ready stay'],
    ['stays in a hibernated cluster', leaving({ isAdopting: false }, asleep), {}, 'Leaving stay'],
    ['leaves after it has failed', aMember('Failed', { claim: null, isAdopting: false }), {}, 'beginLeave'],
    ['stays Failed while it is claimed', aMember('Failed', { isAdopting: false }), {}, 'Failed stay'],
    ['ends when deregistered', aMachine({ phase: 'Deregistering', deregisterRequestedAt: ago(1) }), {}, 'forget'],
  ])('%s', check);

  it('is named after its kind and number, and annotated as an adopted node', () => {
    expect(stepOf(aMachine({ claim: aClaim() }))).toMatchObject({ nodeName: 'dedicated-321', cluster: aCluster() });
    expect(stepOf(aMember('Joining'), { node: aNode({ labels: {}, annotations: {} }) })).toMatchObject({
      patch: nodePatch,
    });
  });

  it.each<[string, WantedServer, Partial<Seen>, string]>([
    ['no pool uses it', aMachine(), {}, 'NoNodePool'],
    ['the cluster cannot take nodes', aMachine({ claim: aClaim(asleep) }), {}, 'ClusterNotReady'],
    ['its command was not run', aMember('Joining'), { node: 'absent' }, 'MachineAwaited'],
    ['the node is not Ready', aMember('Joining'), { node: aNode({ isReady: false }) }, 'NodeNotReady'],
    ['the cluster that it leaves is hibernated', leaving({}, asleep), {}, 'ClusterHibernated'],
  ])('reports in its operation that %s', (_what, wanted, seen, reason) => {
    const result = verdictOf(wanted, seen);

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
    ['the same after it left during its adoption', aMachine({ message: leftMessage })],
  ])('says %s', (_what, wanted) => {
    expect(verdictOf(wanted).message).toEqual(wipe);
  });

  it.each<[string, WantedServer, Partial<Seen>]>([
    ['a pool', aMachine({ acknowledgedAt: ago(604_801) }), {}],
    ['its command', aMember('Joining', { begunAt: ago(604_801) }), { node: 'absent' }],
  ])('fails after a week of waiting for %s', (_what, wanted, seen) => {
    const result = verdictOf(wanted, seen);

    expect(result).toMatchObject({ phase: 'Failed', operation: { to: 'failed', code: 'server_never_joined' } });
    expect(result).toMatchObject({ message: 'The machine did not become a node within 168 hours.', waiting: null });
  });

  it('does not fail while its cluster is hibernated', () => {
    const wanted = aMember('Joining', { begunAt: ago(604_801) }, asleep);

    expect(said(stepOf(wanted))).toBe('Joining running');
  });
});

describe('nodes', () => {
  const running: Seen = acted({ status: 'running' });
  const withNode = (node: Seen['node'], more: Partial<Seen> = {}): Seen => ({ ...nothingSeen, node, ...more });

  describe('the next step of a Ready server', () => {
    const claimed = (cluster = aCluster(), more: Partial<WantedServer> = {}) =>
      aWanted({ phase: 'Ready', claim: aClaim(cluster), ...more });
    const idle = aWanted({ phase: 'Ready' });
    const aNodeAlready = { ...idle, currentCluster: aCluster(), nodeName: 'web' };
    const unseenForADay = { observedAt: ago(86_400) };
    const labelled = (claim: string) => ({
      ...nothingSeen,
      server: aServer({ labels: { 'corral.dev/claim': claim } }),
    });

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
      ['reads the server daily while it waits', claimed(asleep, unseenForADay), nothingSeen, 'readServer'],
      ['does not join over a rejected connection', claimed(aCluster(), { connection: rejected }), ready, 'Ready stay'],
      ['leaves first when it is a node', aNodeAlready, nothingSeen, 'beginLeave'],
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
      expect(stepOf(claimed(), having({ name }))).toMatchObject({ do: 'beginJoin', nodeName });
    });
  });

  describe('the next step of a joining server', () => {
    const joining = (more: Partial<WantedServer> = {}, cluster = aCluster()) => aMember('Joining', more, cluster);
    const asked = { rebuildAskedAt: new Date(second.getTime() - 20_000), imageId: 7 };
    const askedLongAgo = { rebuildAskedAt: ago(900), begunAt: ago(901) };
    const rebuilding = joining({ ...asked, rebuildActionId: 10 });
    const unclaimed = { claim: null };
    const moved = { claim: aClaim(other) };
    const rebuilt = acted();
    const node = aNode();
    const up = { ...rebuilt, server: aServer({ imageId: 7 }) };

    it.each<Row>([
      ['reads the server first', joining(), nothingSeen, 'readServer'],
      ['claims it', joining(), having({ labels: {} }), 'putLabel'],
      ['looks for the image', joining(), { ...ready, image: null }, 'findImage'],
      ['reads the actions', joining(), { ...ready, actions: null }, 'readActions'],
      ['prepares join data', joining(), ready, 'prepareJoin'],
      ['reads the actions after it', joining(), { ...ready, actions: null, joinUserData: 'x' }, 'readActions'],
      ['requests the rebuild with the join data', joining(), { ...ready, joinUserData: 'x' }, 'requestRebuild'],
      ['waits for a cluster that can no longer take nodes', joining({}, starting), ready, 'Joining stay'],
      ['fails with a protected server', joining(), having({ isRebuildProtected: true }), 'Failed stay'],
      ['fails without the server', joining(), { ...ready, server: 'absent' }, 'Failed stay'],
      ['waits while the token is rejected', joining({ connection: rejected }), nothingSeen, 'Joining stay'],
      ['leaves immediately without a claim', joining(unclaimed), nothingSeen, 'beginLeave'],
      ['leaves immediately when another cluster claims it', joining(moved), nothingSeen, 'beginLeave'],
      ['leaves without claim and token', joining({ ...unclaimed, connection: rejected }), nothingSeen, 'beginLeave'],
      ['leaves a cluster that is being deleted', joining({}, deleting), nothingSeen, 'beginLeave'],
      ['starts over after its cluster was hibernated', joining({}, asleep), nothingSeen, 'beginLeave'],
      ['looks for a lost outcome before it leaves', joining({ ...asked, ...unclaimed }), nothingSeen, 'readActions'],
      ['leaves once a lost request cannot arrive', joining({ ...asked, ...unclaimed }), ready, 'Joining stay'],
      ['waits for the end of its rebuild before it leaves', { ...rebuilding, ...moved }, running, 'Joining stay'],
      ['waits for that without a limit', { ...rebuilding, ...moved, begunAt: ago(9_999) }, running, 'Joining stay'],
      ['leaves after the end of its rebuild', { ...rebuilding, ...moved }, rebuilt, 'beginLeave'],
      ['leaves after a failed rebuild too', { ...rebuilding, ...unclaimed }, acted({ status: 'error' }), 'beginLeave'],
      ['reads the action', rebuilding, nothingSeen, 'readAction'],
      ['waits for the end of the action', rebuilding, running, 'Joining stay'],
      ['fails with the action', rebuilding, acted({ status: 'error' }), 'Failed stay'],
      ['reads the node after the action', rebuilding, rebuilt, 'readNode'],
      ['awaits the node', rebuilding, { ...rebuilt, node: 'absent' }, 'Joining stay'],
      ['checks the image of a registered node', rebuilding, { ...rebuilt, node: aNode() }, 'readServer'],
      ['fails with another image', rebuilding, { ...up, server: aServer({ imageId: 8 }), node }, 'Failed stay'],
      ['labels and annotates the node', rebuilding, { ...up, node: aNode({ annotations: {} }) }, 'patchNode'],
      ['waits until the node is Ready', rebuilding, { ...up, node: aNode({ isReady: false }) }, 'Joining stay'],
      ['deletes the join token when the node is Ready', rebuilding, { ...up, node: aNode() }, 'endJoin'],
      ['is Joined after that', rebuilding, { ...up, node: aNode(), joinEndedIn: 1 }, 'Joined stay'],
      ['is Joined after the token expired', { ...rebuilding, ...askedLongAgo }, { ...up, node }, 'Joined stay'],
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
    const askedNow = { rebuildAskedAt: ago(10) };
    const renamed = joined({ claim: aClaim(aCluster(), 'gold') });

    it.each<Row>([
      ['reads the node', joined(), nothingSeen, 'readNode'],
      ['restores removed labels and annotations', joined(), withNode(aNode({ labels: {} })), 'patchNode'],
      ['updates the label for another pool of the cluster', renamed, withNode(aNode()), 'patchNode'],
      ['settles when nothing is to do', joined(), withNode(aNode()), 'Joined stay'],
      ['asks the provider once a day', overdue, withNode(aNode()), 'readServer'],
      ['asks no provider without a token', { ...overdue, connection: rejected }, withNode(aNode()), 'Joined stay'],
      ['puts the claim label back', overdue, withNode(aNode(), { server: aServer({ labels: {} }) }), 'putLabel'],
      ['reports a missing server', overdue, withNode('absent', { server: 'absent' }), 'Missing stay'],
      ['asks no hibernated cluster', joined({}, asleep), nothingSeen, 'Joined stay'],
      ['leaves without a claim', joined({ claim: null }), nothingSeen, 'beginLeave'],
      ['leaves for another cluster', joined({ claim: aClaim(other) }), nothingSeen, 'beginLeave'],
      ['leaves a cluster that is being deleted', joined({}, deleting), nothingSeen, 'beginLeave'],
      ['leaves a cluster that is gone', joined({ claim: null, currentCluster: null }), nothingSeen, 'beginLeave'],
      ['is Joined when a missing server is back', aMember('Missing'), ready, 'Joined stay'],
      ['stays Missing while it is absent', aMember('Missing'), { ...nothingSeen, server: 'absent' }, 'Missing stay'],
      ['leaves while it is Missing too', aMember('Missing', { claim: null }), nothingSeen, 'beginLeave'],
      ['stays Failed while it is claimed', aMember('Failed'), nothingSeen, 'Failed stay'],
      ['leaves when it is Failed and no longer claimed', aMember('Failed', { claim: null }), nothingSeen, 'beginLeave'],
      ['stays during a rebuild', aMember('Failed', { claim: null, ...askedNow }), nothingSeen, 'readActions'],
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
    const clean: Seen = acted({}, { imageId: 7 });

    it.each<Row>([
      ['reads the node', leaving(), ready, 'readNode'],
      ['cordons the node', leaving(), withNode(aNode()), 'cordon'],
      ['drains the node', leaving(), withNode(cordoned), 'evict'],
      ['waits for its pods', leaving(), withNode(cordoned, { podsLeft: 2 }), 'Leaving stay'],
      ['deletes the node when none is left', leaving(), withNode(cordoned, { podsLeft: 0 }), 'deleteNode'],
      ['deletes the node with its pods after the drain time', late, withNode(cordoned, { podsLeft: 2 }), 'deleteNode'],
      ['evicts pods even after the drain time', late, withNode(cordoned), 'evict'],
      ['waits while the cluster is hibernated', leaving({}, asleep), nothingSeen, 'Leaving stay'],
      ['drains nothing of a cluster that is being deleted', leaving({}, deleting), ready, 'requestRebuild'],
      ['drains nothing of a cluster that is gone', leaving({ currentCluster: null }), ready, 'requestRebuild'],
      ['drains even with a rejected token', leaving({ connection: rejected }), nothingSeen, 'readNode'],
      ['waits for a valid token after the drain', leaving({ connection: rejected }), gone, 'Leaving stay'],
      ['reads the server', leaving(), withNode('absent'), 'readServer'],
      ['requests a rebuild without join data', leaving(), gone, 'requestRebuild'],
      ['fails if protected', leaving(), { ...gone, server: aServer({ isRebuildProtected: true }) }, 'Failed stay'],
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
});
