import { describe, expect, it } from '@jest/globals';
import { trackBudget } from './budget.js';

const nowMs = Date.parse('2026-01-02T03:04:05Z');
const laterSeconds = nowMs / 1_000 + 1_800;

function aBudget() {
  const clock = { tick: 0 };
  const budget = trackBudget({ now: () => nowMs + clock.tick, tick: () => clock.tick });
  const pass = (ms: number) => {
    clock.tick += ms;
  };
  return { budget, pass };
}

const stated = (remaining: number, { limit = '3600', reset = String(laterSeconds) } = {}) => ({
  'ratelimit-limit': limit,
  'ratelimit-remaining': String(remaining),
  'ratelimit-reset': reset,
});

describe('a budget', () => {
  it('lets everybody go before the upstream has said anything', async () => {
    const { budget } = aBudget();

    const turns = await Promise.all([budget.turn(0), budget.turn(0), budget.turn(0)]);

    expect(turns).toEqual([{ kind: 'go' }, { kind: 'go' }, { kind: 'go' }]);
  });

  it('reads as the upstream last stated it', () => {
    const { budget } = aBudget();
    budget.observe(stated(100));
    budget.observe(stated(42));
    budget.observe({});

    expect(budget.read()).toEqual({ limit: 3600, remaining: 42, resetAt: new Date(laterSeconds * 1_000) });
  });

  it.each([['-1'], ['1.5'], ['many'], ['1, 2'], ['']])('ignores the remaining budget %j', (remaining) => {
    const { budget } = aBudget();

    budget.observe({ 'ratelimit-remaining': remaining });

    expect(budget.read()).toEqual({ limit: null, remaining: null, resetAt: null });
  });

  it('says honestly how long it takes until the next call is free', async () => {
    const { budget } = aBudget();
    budget.observe(stated(0, { limit: '360' }));

    const turn = await budget.turn(5_000);

    expect(turn).toEqual({ kind: 'too_long', retryAfterSeconds: 10, resetAt: new Date(laterSeconds * 1_000) });
  });

  it('gives one turn for each call that was refilled meanwhile', async () => {
    const { budget, pass } = aBudget();
    budget.observe(stated(0));

    pass(2_500);
    const turns = [await budget.turn(0), await budget.turn(0), await budget.turn(0)];

    expect(turns.map((turn) => turn.kind)).toEqual(['go', 'go', 'too_long']);
  });

  it('spends what remains before it makes anybody wait', async () => {
    const { budget } = aBudget();
    budget.observe(stated(2));

    const turns = [await budget.turn(0), await budget.turn(0), await budget.turn(0)];

    expect(turns.map((turn) => turn.kind)).toEqual(['go', 'go', 'too_long']);
  });

  it('does not count a call that never reached the upstream', async () => {
    const { budget } = aBudget();
    budget.observe(stated(1));
    await budget.turn(0);

    budget.giveBack();

    expect(await budget.turn(0)).toEqual({ kind: 'go' });
  });

  it('is full again once the stated time has come', async () => {
    const { budget } = aBudget();

    budget.observe(stated(0, { reset: String(nowMs / 1_000) }));

    expect(await budget.turn(0)).toEqual({ kind: 'go' });
  });

  it('makes callers wait one after the other', async () => {
    const { budget } = aBudget();
    budget.observe(stated(0, { limit: '72000' }));

    const turns = await Promise.all([budget.turn(60), budget.turn(110), budget.turn(60)]);

    expect(turns.map((turn) => turn.kind)).toEqual(['go', 'go', 'too_long']);
  });

  it('keeps the place of those who wait when the upstream states its budget anew', async () => {
    const { budget } = aBudget();
    budget.observe(stated(0, { limit: '72000' }));
    const waiting = budget.turn(60);

    budget.observe(stated(0, { limit: '72000' }));
    const late = await budget.turn(60);
    await waiting;
    budget.observe(stated(0, { limit: '72000' }));
    const next = await budget.turn(60);

    expect([late.kind, next.kind]).toEqual(['too_long', 'go']);
  });

  it('frees the place of a caller who gives up', async () => {
    const { budget } = aBudget();
    budget.observe(stated(0));
    const giveUp = new AbortController();
    const waiting = budget.turn(1_500, giveUp.signal);

    giveUp.abort();

    expect(await waiting).toEqual({ kind: 'aborted' });
    expect(await budget.turn(999)).toMatchObject({ retryAfterSeconds: 1 });
  });

  it.each([
    ['seconds', '7', 7],
    ['a date', new Date(nowMs + 20_000).toUTCString(), 20],
    ['a time beyond an hour as an hour', '999999', 3_600],
    ['none as a second or two', undefined, 2],
    ['words as a second or two', 'soon', 2],
    ['zero as a moment, lest it become a busy loop', '0', 1],
  ])('obeys a Retry-After of %s', async (_what, header, secondsMax) => {
    const { budget } = aBudget();

    budget.refused(header === undefined ? {} : { 'retry-after': header });
    const turn = await budget.turn(0);

    expect(turn).toMatchObject({ kind: 'too_long', retryAfterSeconds: expect.any(Number) });
    if (turn.kind === 'too_long') expect(turn.retryAfterSeconds).toBeLessThanOrEqual(secondsMax);
    if (turn.kind === 'too_long' && secondsMax > 2) expect(turn.retryAfterSeconds).toBe(secondsMax);
  });

  it('forgets a pause that is over', async () => {
    const { budget, pass } = aBudget();
    budget.refused({ 'retry-after': '7' });

    pass(7_000);

    expect(await budget.turn(0)).toEqual({ kind: 'go' });
  });
});
