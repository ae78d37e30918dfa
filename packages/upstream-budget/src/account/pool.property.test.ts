import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { admits, charge, credit, debtOf, flowsBeyond, type Pool, poolOf, refill, waitMs } from './pool.js';

const CAPACITY = 100;
const flows = ['a', 'b', 'c', 'd'];
const free = { left: 0, burst: 1 / 8 };

type Step = { charge: string } | { refill: number };
const steps = fc.array(
  fc.oneof(
    fc.record({ charge: fc.constantFrom(...flows) }),
    fc.record({ refill: fc.double({ min: 0, max: 40, noNaN: true }) }),
  ),
  { maxLength: 150, size: 'max' },
);

const after = (taken: readonly Step[], from: Pool = poolOf(CAPACITY)): Pool =>
  taken.reduce((pool, step) => {
    if ('charge' in step) return pool.level >= 1 ? charge(pool, step.charge) : pool;
    return refill(pool, step.refill, CAPACITY).pool;
  }, from);

const owedIn = (pool: Pool): number => flows.reduce((sum, flow) => sum + debtOf(pool, flow), 0);

describe('a pool', () => {
  it('is owed exactly what it lacks: each call is on somebody’s account until the refill has repaid it', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const pool = after(taken);

        expect(owedIn(pool)).toBeCloseTo(CAPACITY - pool.level, 3);
      }),
    );
  });

  it('repays debtors evenly: who owes more never falls behind who owes less, and what one gets, all get', () => {
    fc.assert(
      fc.property(steps, fc.double({ min: 0, max: 60, noNaN: true }), (taken, amount) => {
        const before = after(taken);

        const { pool } = refill(before, amount, CAPACITY);

        const repaid = flows.map((flow) => debtOf(before, flow) - debtOf(pool, flow));
        const stillOwing = repaid.filter((_, index) => debtOf(pool, flows[index] as string) > 0);
        const most = Math.max(...repaid);
        expect(Math.min(...repaid)).toBeGreaterThanOrEqual(0);
        for (const each of stillOwing) expect(each).toBeCloseTo(most, 3);
      }),
    );
  });

  it('takes a call back as if it had never been made', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(...flows), (taken, flow) => {
        const before = after(taken);

        const back = credit(charge(before, flow), flow, 1, CAPACITY);

        expect(back.level).toBeCloseTo(before.level, 3);
        for (const each of flows) expect(debtOf(back, each)).toBeCloseTo(debtOf(before, each), 3);
      }),
    );
  });

  it('spills what it has no room for', () => {
    expect(refill(poolOf(90), 25, CAPACITY)).toMatchObject({ pool: { level: 100 }, overflow: 15 });
  });
});

describe('admission', () => {
  const drawnBy = (flow: string, calls: number): Pool => charge(poolOf(CAPACITY), flow, calls);

  it('lets one flow use up a ninth of the pool at once, and leaves the rest to others', () => {
    let pool = poolOf(CAPACITY);
    let calls = 0;
    for (; admits(pool, 'a', free); calls += 1) pool = charge(pool, 'a');

    expect(calls).toBe(Math.floor(CAPACITY / 9));
    expect(admits(pool, 'b', free)).toBe(true);
  });

  it('divides the pool evenly among flows that take all they can', () => {
    let pool = poolOf(CAPACITY);
    for (const flow of Array.from({ length: 100 }, () => flows).flat()) {
      if (admits(pool, flow, free)) pool = charge(pool, flow);
    }

    const debts = flows.map((flow) => debtOf(pool, flow));
    expect(Math.max(...debts) - Math.min(...debts)).toBeLessThanOrEqual(1);
  });

  it('gives the last call to a flow without debt, and to no other', () => {
    const pool = drawnBy('a', 99);

    expect([admits(pool, 'a', free), admits(pool, 'b', free)]).toEqual([false, true]);
    expect(admits(charge(pool, 'b'), 'c', free)).toBe(false);
  });

  it('keeps what a flow has to leave', () => {
    expect(admits(poolOf(50.5), 'a', { left: 50, burst: 1 })).toBe(false);
    expect(admits(poolOf(51), 'a', { left: 50, burst: 1 })).toBe(true);
  });

  it('names the flows beyond a bound', () => {
    const pool = charge(charge(poolOf(CAPACITY), 'a', 5), 'b', 2);

    expect(flowsBeyond(pool, 2)).toEqual(['a']);
  });
});

describe('the forecast of a wait', () => {
  it('is when a flow that is alone in asking will be admitted', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(...flows), (taken, flow) => {
        const pool = after(taken);
        const perMs = 0.001;

        const forecastMs = waitMs(pool, flow, { others: 0, own: 0 }, free, perMs);

        const at = (ms: number): Pool => refill(pool, ms * perMs, CAPACITY).pool;
        expect(admits(at(forecastMs + 1), flow, free)).toBe(true);
      }),
    );
  });

  it('counts who is before', () => {
    const empty = poolOf(0);

    expect(waitMs(empty, 'a', { others: 0, own: 0 }, free, 0.001)).toBe(1_000);
    expect(waitMs(empty, 'a', { others: 4, own: 0 }, free, 0.001)).toBe(5_000);
  });
});
