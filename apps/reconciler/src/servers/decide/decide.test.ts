import { asConnectionId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { ago, anAction, aServer, aWanted, now, ready, said, second, times } from '../../../test/support/a-server.js';
import { judgeProviderFailure } from '../judge.js';
import { nothingSeen, type Seen, type Step, type WantedServer } from '../model.js';
import { decide } from './decide.js';

const asked = (more: Partial<WantedServer> = {}) =>
  aWanted({ phase: 'Rebuilding', rebuildAskedAt: new Date(second.getTime() - 20_000), imageId: 7, ...more });
const rebuilding = asked({ rebuildActionId: 10 });

describe('the next step of an adoption', () => {
  it.each<[string, WantedServer, Seen, string]>([
    ['reads the server first', aWanted(), nothingSeen, 'readServer'],
    ['claims it', aWanted(), { ...ready, server: aServer({ labels: { env: 'prod' } }) }, 'putLabel'],
    ['records the label once it was read back', aWanted({ labelledAt: null }), ready, 'recordLabel'],
    [
      'claims it again when the label was removed',
      aWanted(),
      { ...ready, server: aServer({ labels: {} }) },
      'putLabel',
    ],
    ['looks for the image', aWanted(), { ...ready, image: null }, 'findImage'],
    ['reads the actions', aWanted(), { ...ready, actions: null }, 'readActions'],
    ['requests the rebuild', aWanted(), ready, 'requestRebuild'],
    [
      'requests no rebuild in the same second as another one',
      aWanted(),
      { ...ready, actions: { list: [anAction({ startedAt: second })], at: second } },
      'Adopting running',
    ],
    [
      'requests no rebuild during another action',
      aWanted(),
      { ...ready, actions: { list: [anAction({ command: 'resize', status: 'running' })], at: second } },
      'Adopting running',
    ],
    [
      'waits while the server is locked',
      aWanted(),
      { ...ready, server: aServer({ isLocked: true }) },
      'Adopting running',
    ],
    [
      'waits while the server migrates',
      aWanted(),
      { ...ready, server: aServer({ status: 'migrating' }) },
      'Adopting running',
    ],
    [
      'fails when a lock does not end in time',
      aWanted({ acknowledgedAt: ago(3_601) }),
      { ...ready, server: aServer({ isLocked: true }) },
      'Failed failed server_locked',
    ],
    ['fails without the server', aWanted(), { ...ready, server: 'absent' }, 'Failed failed server_gone'],
    ['fails without an image', aWanted(), { ...ready, image: 'absent' }, 'Failed failed server_image_missing'],
    [
      'fails when the disk is too small',
      aWanted(),
      { ...ready, server: aServer({ diskGb: 4 }) },
      'Failed failed server_disk_too_small',
    ],
    [
      'fails with a rejected token',
      aWanted({ connection: { id: asConnectionId('c'), phase: 'Rejected' } }),
      nothingSeen,
      'Failed failed server_token_rejected',
    ],
    [
      'waits for a better token once the rebuild was requested',
      asked({ connection: { id: asConnectionId('c'), phase: 'Rejected' } }),
      nothingSeen,
      'Rebuilding running',
    ],
    ['reads the actions first after a lost response', asked(), { ...ready, actions: null }, 'readActions'],
    [
      'adopts a rebuild that started since the request',
      asked(),
      { ...ready, actions: { list: [anAction({ startedAt: asked().rebuildAskedAt as Date })], at: second } },
      'recordAction',
    ],
    ['does not adopt an earlier rebuild, and waits', asked(), ready, 'Rebuilding running'],
    [
      'requests again after the grace period',
      asked({ rebuildAskedAt: new Date(second.getTime() - 61_000) }),
      ready,
      'forgetRequest',
    ],
    [
      'does not request again a second earlier',
      asked({ rebuildAskedAt: new Date(second.getTime() - 60_000) }),
      ready,
      'Rebuilding running',
    ],
    ['polls the action', rebuilding, ready, 'readAction'],
    [
      'waits for the end of the action',
      rebuilding,
      { ...nothingSeen, action: anAction({ status: 'running', progress: 50 }) },
      'Rebuilding running',
    ],
    [
      'fails with the action',
      rebuilding,
      { ...nothingSeen, action: anAction({ status: 'error' }) },
      'Failed failed server_rebuild_failed',
    ],
    ['reads the server after the action', rebuilding, { ...nothingSeen, action: anAction() }, 'readServer'],
    [
      'succeeds when the server runs the requested image',
      rebuilding,
      { ...nothingSeen, action: anAction(), server: aServer({ imageId: 7 }) },
      'Ready succeeded',
    ],
    [
      'succeeds when the provider no longer knows the action',
      rebuilding,
      { ...nothingSeen, action: 'absent', server: aServer({ imageId: 7 }) },
      'Ready succeeded',
    ],
    [
      'fails when the server runs another image',
      rebuilding,
      { ...nothingSeen, action: anAction(), server: aServer({ imageId: 8 }) },
      'Failed failed server_rebuild_failed',
    ],
    [
      'waits while the server is still locked',
      rebuilding,
      { ...nothingSeen, action: anAction(), server: aServer({ isLocked: true }) },
      'Rebuilding running',
    ],
    ['does nothing after a failure', aWanted({ phase: 'Failed' }), nothingSeen, 'Failed stay'],
  ])('%s', (_what, wanted, seen, expected) => {
    expect(said(decide(wanted, seen, now, times))).toBe(expected);
  });

  it('keeps foreign labels, and replaces no foreign claim', () => {
    const step = decide(aWanted(), { ...ready, server: aServer({ labels: { env: 'prod' } }) }, now, times);
    expect(step).toEqual({ do: 'putLabel', labels: { env: 'prod', 'corral.dev/claim': 'ours' } });

    const theirs = aServer({ labels: { 'corral.dev/claim': 'theirs' } });
    expect(said(decide(aWanted(), { ...ready, server: theirs }, now, times))).toBe(
      'Failed failed server_claimed_elsewhere',
    );
  });
});

describe('the next step of a deregistration', () => {
  const leaving = aWanted({ phase: 'Deregistering', deregisterRequestedAt: ago(1) });

  it.each<[string, WantedServer, Seen, string]>([
    ['reads the server', leaving, nothingSeen, 'readServer'],
    ['removes our label', leaving, ready, 'removeLabel'],
    [
      'keeps a foreign label',
      leaving,
      { ...ready, server: aServer({ labels: { 'corral.dev/claim': 'x' } }) },
      'forget',
    ],
    ['ends without the server', leaving, { ...ready, server: 'absent' }, 'forget'],
    [
      'ends without a token',
      { ...leaving, connection: { id: asConnectionId('c'), phase: 'Rejected' } },
      nothingSeen,
      'forget',
    ],
    [
      'ends after a day of refusals by the provider',
      { ...leaving, deregisterRequestedAt: ago(86_401) },
      nothingSeen,
      'forget',
    ],
    ['requests no rebuild', { ...asked(), deregisterRequestedAt: ago(1) }, ready, 'removeLabel'],
  ])('%s', (_what, wanted, seen, expected) => {
    expect(said(decide(wanted, seen, now, times))).toBe(expected);
  });
});

describe('a failure of the provider', () => {
  const verdictOf = (
    failure: Parameters<typeof judgeProviderFailure>[2],
    step: Step['do'] = 'requestRebuild',
    wanted = aWanted(),
  ) => judgeProviderFailure({ wanted, now, times, random: 0 }, step, failure);

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

  it('keeps the phase of an adopted server', () => {
    const wanted = aWanted({ phase: 'Ready' });
    const refused = { kind: 'credentials_refused', status: 403, code: 'forbidden' } as const;
    expect(verdictOf(refused, 'readServer', wanted)).toMatchObject({ phase: 'Ready', operation: { to: 'stay' } });
  });
});
