import { describe, expect, it } from '@jest/globals';
import { type BudgetState, freshState, levelOf, setLevelOf } from '../../src/budget/account.js';
import {
  type CallEnd,
  end,
  observe,
  parseStatement,
  pause,
  retryAfterMs,
  type Turn,
} from '../../src/budget/statements.js';

const NOW = 1_000_000;

/** An account of 3,600 calls per hour. */
function anAccount(of: { level: number; out?: number; ended?: number; limit?: number | null }): BudgetState {
  const { level, out = 0, ended = 0, limit = 3_600 } = of;
  const process = { seenAt: NOW, out, waiting: [] };
  return { ...setLevelOf(freshState({ epoch: 'e', now: NOW, limit }), level), ended, processes: { one: process } };
}

describe('a statement of the upstream', () => {
  it.each([
    // The call that made the statement has ended and is counted in it.
    ['that agrees changes nothing', { level: 100, ended: 1 }, 100, 100],
    ['is believed when it is lower', { level: 100, ended: 1 }, 40, 40],
    ['is believed when it is higher', { level: 100, ended: 1 }, 140, 140],
    ['a little below hides a fraction, and what flowed in since', { level: 100.9, ended: 1 }, 100, 100],
    // 7 calls are still under way: the upstream may have counted any of them.
    ['that calls under way explain changes nothing', { level: 100, ended: 1, out: 7 }, 105, 100],
    ['that even calls under way do not explain raises the account', { level: 100, ended: 1, out: 7 }, 110, 103],
    ['far below leaves out calls that it may not have counted', { level: 100, ended: 1, out: 7 }, 50, 43],
    // 5 more calls ended since this one began: the upstream may not have counted them either.
    ['that calls ended since explain changes nothing', { level: 100, ended: 6 }, 104, 100],
    ['that they do not explain raises the account', { level: 100, ended: 6 }, 110, 105],
    ['of nothing left may mean less than nothing', { level: 100, ended: 1, out: 7 }, 0, -7],
  ])('%s', (_what, account, remaining, expected) => {
    const state = observe(anAccount(account), { limit: 3_600, remaining, endedBefore: 0 });

    expect(levelOf(state)).toBeCloseTo(expected, 6);
  });

  it('with an unknown predecessor can only lower the account', () => {
    const lowered = observe(anAccount({ level: 100 }), { limit: null, remaining: 40, endedBefore: null });
    const kept = observe(anAccount({ level: 100 }), { limit: null, remaining: 400, endedBefore: null });

    expect([levelOf(lowered), levelOf(kept)]).toEqual([40, 100]);
  });

  it('sets the limit, and with it the capacity', () => {
    const state = observe(anAccount({ level: 3_600, limit: null, ended: 1 }), {
      limit: 720,
      remaining: 719,
      endedBefore: 0,
    });

    expect(state.limit).toBe(720);
    expect(levelOf(state)).toBeCloseTo(719, 6);
  });

  it.each([['-1'], ['1.5'], ['many'], ['1, 2'], ['']])('is ignored with the remaining budget %j', (remaining) => {
    expect(parseStatement({ 'ratelimit-remaining': remaining })).toBeNull();
  });

  it('may omit the limit', () => {
    expect(parseStatement({ 'ratelimit-remaining': '7', 'ratelimit-limit': '0' })).toEqual({
      limit: null,
      remaining: 7,
    });
  });
});

describe('a 429', () => {
  const pauseOf = (retryAfter: number | null, refusals = 0): number =>
    pause({ ...anAccount({ level: 1 }), refusals }, retryAfter).pausedUntil - NOW;

  it.each([
    ['stops all calls for its time', 7_000, 7_000],
    ['for an hour at most', 999_999_000, 3_600_000],
    ['for a moment at least, lest it become a busy loop', 0, 100],
    ['for a second where it does not say', null, 1_000],
  ])('%s', (_what, retryAfter, expected) => {
    expect(pauseOf(retryAfter)).toBe(expected);
  });

  it('without a time pauses calls longer each time until another answer arrives, for at most a minute', () => {
    expect([0, 1, 2, 5, 6, 60].map((refusals) => pauseOf(null, refusals))).toEqual([
      1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
    ]);
  });

  it('is one for all calls that were under way: they do not make the pause longer', () => {
    const paused = pause(anAccount({ level: 1 }), null);

    expect(pause(paused, null)).toEqual(paused);
    expect(pause(paused, 9_000)).toMatchObject({ pausedUntil: NOW + 9_000, refusals: 1 });
  });

  it.each([
    ['seconds', '7', 7_000],
    ['a date', new Date(NOW + 20_000).toUTCString(), 20_000],
    ['a date that is past', new Date(0).toUTCString(), 0],
    ['words', 'soon', null],
    ['nothing', undefined, null],
  ])('may state its time in %s', (_what, header, expected) => {
    expect(retryAfterMs(header === undefined ? {} : { 'retry-after': header }, NOW)).toBe(expected);
  });
});

describe('a call that has ended', () => {
  const turn: Turn = { bucket: 'common', flow: 'acme', epoch: 'e', endedBefore: 0 };
  const ended = (how: CallEnd, out = 2) => {
    const state = { ...anAccount({ level: 100, out }), next: { acme: 5 } };
    const after = end(state, 'one', turn, how);
    return { level: levelOf(after), out: after.processes.one?.out, ended: after.ended, ahead: after.next.acme };
  };

  it('without reaching the upstream comes back', () => {
    expect(ended({ kind: 'unreached' })).toEqual({ level: 101, out: 1, ended: 0, ahead: 4 });
  });

  it('without an answer counts: the upstream may have had it', () => {
    expect(ended({ kind: 'lost' })).toEqual({ level: 100, out: 1, ended: 1, ahead: 5 });
  });

  it('does not come back when it was written off before, because its process was silent', () => {
    expect(ended({ kind: 'unreached' }, 0)).toMatchObject({ level: 100, out: 0 });
  });

  it('with an answer that states nothing means that the published budget holds', () => {
    const after = end(anAccount({ level: 10, limit: null }), 'one', turn, { kind: 'answered', statement: null });

    expect([after.limit, levelOf(after)]).toEqual([3_600, 3_600]);
  });
});
