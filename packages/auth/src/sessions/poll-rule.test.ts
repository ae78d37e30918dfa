import { describe, expect, it } from '@jest/globals';
import { type PolledCode, pauseAfter, refusalOfPoll } from './poll-rule.js';

const now = new Date('2026-11-29T12:00:00Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const fresh: PolledCode = {
  expiresAt: ago(-600),
  polledAt: null,
  pollSeconds: 5,
  decidedAt: null,
  allowedBy: null,
  usedAt: null,
};
const allowed = { decidedAt: ago(1), allowedBy: 'a session' };

describe('a poll', () => {
  it.each<[string, Partial<PolledCode>, ReturnType<typeof refusalOfPoll>]>([
    ['of a new code', {}, 'authorization_pending'],
    ['after the interval', { polledAt: ago(5) }, 'authorization_pending'],
    ['a little early, because clocks differ', { polledAt: ago(4) }, 'authorization_pending'],
    ['too early', { polledAt: ago(3.9) }, 'slow_down'],
    ['before the longer interval that an early one brought', { polledAt: ago(5), pollSeconds: 10 }, 'slow_down'],
    ['of an allowed code', allowed, null],
    ['of an allowed code, too early', { ...allowed, polledAt: ago(1) }, null],
    ['of a refused code', { decidedAt: ago(1) }, 'access_denied'],
    ['of an expired code', { expiresAt: now }, 'expired_token'],
    ['of a code that expired after it was allowed', { ...allowed, expiresAt: now }, 'expired_token'],
    ['of a code that was refused and has expired', { decidedAt: ago(1), expiresAt: now }, 'expired_token'],
    ['of a used code', { ...allowed, usedAt: ago(1) }, 'invalid_grant'],
  ])('%s is answered %s', (_what, code, refusal) => {
    expect(refusalOfPoll({ ...fresh, ...code }, now)).toBe(refusal);
  });

  it('that came too early makes all further pauses 5 s longer', () => {
    expect(pauseAfter('slow_down', 5)).toBe(10);
    expect(pauseAfter('authorization_pending', 10)).toBe(10);
  });
});
