import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type BudgetState, freshState, levelOf, rateOf, setLevelOf } from '../../src/budget/account.js';
import { keepTurn, keptFor, promisesPerFlow, unpromisedMs } from '../../src/budget/find-turn.js';

const NOW = 1_000_000;
const LIMIT = 3_600;

const anAccount = (level: number): BudgetState => setLevelOf(freshState({ epoch: 'e', now: NOW, limit: LIMIT }), level);

/** Promises to any flows, made one after another over time. Due promises take their calls. */
const histories = fc.record({
  level: fc.double({ min: 0, max: 30, noNaN: true }),
  asked: fc.array(
    fc.record({
      flow: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
      fairMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 200_000 })),
      before: fc.integer({ min: 0, max: 5 }),
      passMs: fc.integer({ min: 0, max: 3_000 }),
    }),
    { maxLength: 80, size: 'max' },
  ),
});

/** Advances the time: adds the refill, and lets each due promise take its call. */
function pass(state: BudgetState, ms: number): BudgetState {
  const at = state.at + ms;
  const due = state.promises.filter(({ dueAt }) => dueAt <= at);
  const level = levelOf(state) + ms * rateOf(state) - due.length;
  return { ...setLevelOf(state, level), at, promises: state.promises.filter(({ dueAt }) => dueAt > at) };
}

describe('promises', () => {
  it('can all be kept from the refill, whenever and for any team: each has a call at its time', () => {
    fc.assert(
      fc.property(histories, ({ level, asked }) => {
        let state = anAccount(level);
        for (const { passMs, ...wanted } of asked) {
          state = pass(keepTurn(state, wanted).state, passMs);
          expect(levelOf(state)).toBeGreaterThanOrEqual(-1e-6);
          expect(keptFor(state)).toBeLessThanOrEqual(levelOf(state) + 1e-6);
        }
        const last = state.promises.at(-1)?.dueAt ?? state.at;
        expect(levelOf(pass(state, last - state.at))).toBeGreaterThanOrEqual(-1e-6);
      }),
      { numRuns: 40 },
    );
  });

  it('leave three tenths of the refill unpromised', () => {
    fc.assert(
      fc.property(histories, ({ level, asked }) => {
        let state = anAccount(level);
        for (const wanted of asked) state = keepTurn(state, wanted).state;

        for (const [index, { dueAt }] of state.promises.entries()) {
          expect(index + 1).toBeLessThanOrEqual(level + 0.7 * rateOf(state) * (dueAt - NOW) + 1e-6);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('are not earlier than is fair, and each team has a maximum number', () => {
    fc.assert(
      fc.property(histories, ({ level, asked }) => {
        let state = anAccount(level);
        for (const wanted of asked) {
          const { state: after, retryAfterMs } = keepTurn(state, wanted);
          if (after !== state) expect(retryAfterMs).toBeGreaterThanOrEqual(wanted.fairMs);
          state = after;
        }

        const counts = new Map<string, number>();
        for (const { flow } of state.promises) counts.set(flow, (counts.get(flow) ?? 0) + 1);
        expect(Math.max(0, ...counts.values())).toBeLessThanOrEqual(promisesPerFlow);
        expect(state.promises).toEqual([...state.promises].sort((one, other) => one.dueAt - other.dueAt));
      }),
      { numRuns: 40 },
    );
  });

  it('are for the first time at which a call is available', () => {
    fc.assert(
      fc.property(histories, ({ level, asked }) => {
        let state = anAccount(level);
        for (const wanted of asked) state = keepTurn(state, wanted).state;
        const perMs = 0.7 * rateOf(state);

        const waitMs = unpromisedMs(state, level, perMs);

        // Earlier, this or a later promise would lack a call.
        const sooner = NOW + waitMs - 1;
        const times = [...state.promises.map(({ dueAt }) => dueAt), sooner].sort((one, other) => one - other);
        const lacks = times.some((at, index) => at >= sooner && index + 1 > level + perMs * (at - NOW) - 1e-9);
        expect(waitMs < 1 || lacks).toBe(true);
      }),
      { numRuns: 40 },
    );
  });
});
