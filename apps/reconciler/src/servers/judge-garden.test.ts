import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { ago, aMember, now, times } from '../../test/support/a-server.js';
import { judgeFailure } from './judge-failure.js';
import { judgeGarden } from './judge-garden.js';
import type { Step, WantedServer } from './model.js';

const stand = (wanted: WantedServer) => ({ wanted, now, times, random: 0 });
const told = (wanted: WantedServer, kind: GardenErrorKind, step: Step['do'] = 'readNode') =>
  judgeGarden(stand(wanted), step, { kind: 'unanswered', error: new GardenError(kind, 'shoot garden-t1/c1') });
const kinds: GardenErrorKind[] = [
  ...(['unreachable', 'uncertain', 'throttled', 'credentials', 'rbac', 'refused', 'stale_reference'] as const),
  ...(['conflict', 'exists', 'not_found', 'expired', 'server_error', 'unusable'] as const),
];

describe('a cluster that did not do what was asked for', () => {
  it.each(kinds)('is waited for after %s, and its words are not passed on', (kind) => {
    for (const phase of ['Joining', 'Joined', 'Leaving'] as const) {
      const verdict = told(aMember(phase), kind);
      expect(verdict).toMatchObject({ phase, operation: { to: 'stay' }, endsMembership: false });
      expect(verdict.lookAgainMs).toBeGreaterThanOrEqual(1_000);
      expect(verdict.message).not.toContain('c1');
    }
  });

  it.each<[GardenErrorKind, boolean | null]>([
    ['unreachable', false],
    ['not_found', false],
    ['throttled', null],
    ['credentials', null],
  ])('says of the node after %s what is known of it', (kind, nodeReady) => {
    expect(told(aMember('Joined'), kind)).toMatchObject({ nodeReady, lookAgainMs: 60_000 });
  });

  it('is asked again at growing distance', () => {
    const waits = [0, 1, 2, 10].map((failures) => told(aMember('Leaving', { failures }), 'unreachable').lookAgainMs);
    expect(waits).toEqual([2_000, 4_000, 8_000, 60_000]);
  });

  it('is asked for as long as it asks for, without counting that', () => {
    const error = new GardenError('throttled', 'shoot', { retryAfterSeconds: 7 });
    const verdict = judgeGarden(stand(aMember('Leaving')), 'evict', { kind: 'unanswered', error });
    expect(verdict).toMatchObject({ lookAgainMs: 9_000, failures: 0 });
  });

  it('says which pool is missing', () => {
    expect(told(aMember('Joining'), 'not_found', 'prepareJoin').message).toContain('no managed pool');
  });

  it('ends a joining, and no leaving, when its time is over', () => {
    const begunAt = ago(1_801);
    expect(told(aMember('Joining', { begunAt }), 'unreachable')).toMatchObject({
      ...{ phase: 'Failed', message: expect.stringContaining('(server_join_timeout)'), lookAgainMs: null },
    });
    expect(told(aMember('Leaving', { begunAt }), 'unreachable').phase).toBe('Leaving');
  });

  it('is left alone for as long as the garden wants to be', () => {
    const verdict = judgeGarden(stand(aMember('Joined', { failures: 2 })), 'readNode', { kind: 'paused', inMs: 5_000 });
    expect(verdict).toMatchObject({ phase: 'Joined', lookAgainMs: 5_000, failures: 2, nodeReady: null });
  });
});

describe('a provider that does not do what joining or leaving needs', () => {
  const refused = (code: string) => ({ kind: 'refused', status: 423, code }) as const;
  const forbidden = { kind: 'credentials_refused', status: 403, code: 'forbidden' } as const;

  it.each(['Joining', 'Leaving'] as const)('ends a %s with its code, and no operation', (phase) => {
    expect(judgeFailure(stand(aMember(phase)), 'askRebuild', refused('protected'))).toMatchObject({
      ...{ phase: 'Failed', message: expect.stringContaining('(server_protected)'), operation: { to: 'stay' } },
      nodeReady: false,
    });
  });

  it.each(['Joining', 'Leaving'] as const)('lets a %s wait for a lock, and for a better token', (phase) => {
    expect(judgeFailure(stand(aMember(phase)), 'askRebuild', refused('locked'))).toMatchObject({ phase });
    expect(judgeFailure(stand(aMember(phase)), 'askRebuild', forbidden)).toMatchObject({ phase, doubtsToken: true });
  });

  it('does not keep a server that is gone from leaving', () => {
    expect(judgeFailure(stand(aMember('Joining')), 'askRebuild', { kind: 'absent' }).phase).toBe('Failed');
    expect(judgeFailure(stand(aMember('Leaving')), 'askRebuild', { kind: 'absent' }).phase).toBe('Leaving');
  });
});
