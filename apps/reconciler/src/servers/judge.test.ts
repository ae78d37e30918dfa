import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { ago, aMember, now, times } from '../../test/support/a-server.js';
import { judgeClusterFailure, judgeProviderFailure } from './judge.js';
import type { Step, WantedServer } from './model.js';

const context = (wanted: WantedServer) => ({ wanted, now, times, random: 0 });
const verdictOf = (wanted: WantedServer, kind: GardenErrorKind, step: Step['do'] = 'readNode') =>
  judgeClusterFailure(context(wanted), step, {
    kind: 'unanswered',
    error: new GardenError(kind, 'shoot garden-t1/c1'),
  });
const kinds: GardenErrorKind[] = [
  'unreachable',
  'uncertain',
  'throttled',
  'credentials',
  'rbac',
  'refused',
  'stale_reference',
  'conflict',
  'exists',
  'not_found',
  'expired',
  'server_error',
  'unusable',
];

describe('a cluster that did not perform a step', () => {
  it.each(kinds)('is retried after %s, without its wording in the message', (kind) => {
    for (const phase of ['Joining', 'Joined', 'Leaving'] as const) {
      const verdict = verdictOf(aMember(phase), kind);
      expect(verdict).toMatchObject({ phase, operation: { to: 'stay' }, hasLeftCluster: false });
      expect(verdict.nextPassMs).toBeGreaterThanOrEqual(1_000);
      expect(verdict.message).not.toContain('c1');
    }
  });

  it.each<[GardenErrorKind, boolean | null]>([
    ['unreachable', false],
    ['not_found', false],
    ['throttled', null],
    ['credentials', null],
  ])('sets nodeReady after %s as far as it is known', (kind, nodeReady) => {
    expect(verdictOf(aMember('Joined'), kind)).toMatchObject({ nodeReady, nextPassMs: 60_000 });
  });

  it.each([
    ['garden', false],
    ['cluster', true],
  ])('is retried with the words of a policy of the %s, or the name of its webhook that is dead', (place, fromShoot) => {
    const messageOf = (error: GardenError) =>
      judgeClusterFailure(context(aMember('Leaving')), 'cordon', { kind: 'unanswered', error }).message;
    const denial = { by: 'freeze', words: 'not in December' };

    expect(messageOf(new GardenError('refused', 'patch nodes', { denial, fromShoot }))).toBe(
      `The policy freeze of the ${place} refuses work on the node: not in December.`,
    );
    expect(
      messageOf(new GardenError('webhook_unavailable', 'patch nodes', { webhook: 'own.example.org', fromShoot })),
    ).toBe(`The admission webhook own.example.org of the ${place} does not answer. The service retries.`);
  });

  it('is retried with growing delays', () => {
    const waits = [0, 1, 2, 10].map(
      (failures) => verdictOf(aMember('Leaving', { failures }), 'unreachable').nextPassMs,
    );
    expect(waits).toEqual([2_000, 4_000, 8_000, 60_000]);
  });

  it('is retried after Retry-After without counting a failure', () => {
    const error = new GardenError('throttled', 'shoot', { retryAfterSeconds: 7 });
    const verdict = judgeClusterFailure(context(aMember('Leaving')), 'evict', { kind: 'unanswered', error });
    expect(verdict).toMatchObject({ nextPassMs: 9_000, failures: 0 });
  });

  it('reports a missing managed pool', () => {
    expect(verdictOf(aMember('Joining'), 'not_found', 'prepareJoin').message).toContain('no managed pool');
  });

  it('ends a joining, but no leaving, at the time limit', () => {
    const begunAt = ago(1_801);
    expect(verdictOf(aMember('Joining', { begunAt }), 'unreachable')).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('(server_join_timeout)'),
      nextPassMs: null,
    });
    expect(verdictOf(aMember('Leaving', { begunAt }), 'unreachable').phase).toBe('Leaving');
  });

  it('is not called while the garden gate is paused', () => {
    const verdict = judgeClusterFailure(context(aMember('Joined', { failures: 2 })), 'readNode', {
      kind: 'paused',
      inMs: 5_000,
    });
    expect(verdict).toMatchObject({ phase: 'Joined', nextPassMs: 5_000, failures: 2, nodeReady: null });
  });
});

describe('a provider that refuses a joining or leaving step', () => {
  const refused = (code: string) => ({ kind: 'refused', status: 423, code }) as const;
  const forbidden = { kind: 'credentials_refused', status: 403, code: 'forbidden' } as const;

  it.each(['Joining', 'Leaving'] as const)('ends a %s with its code, without an operation', (phase) => {
    expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', refused('protected'))).toMatchObject({
      phase: 'Failed',
      message: expect.stringContaining('(server_protected)'),
      operation: { to: 'stay' },
      nodeReady: false,
    });
  });

  it.each(['Joining', 'Leaving'] as const)('keeps a %s waiting during a lock, and for a valid token', (phase) => {
    expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', refused('locked'))).toMatchObject({ phase });
    expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', forbidden)).toMatchObject({
      phase,
      doubtsToken: true,
    });
  });

  it('fails a joining without the server, but not a leaving', () => {
    expect(judgeProviderFailure(context(aMember('Joining')), 'requestRebuild', { kind: 'absent' }).phase).toBe(
      'Failed',
    );
    expect(judgeProviderFailure(context(aMember('Leaving')), 'requestRebuild', { kind: 'absent' }).phase).toBe(
      'Leaving',
    );
  });
});
