import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  admits,
  bucketOf,
  charge,
  credit,
  type DebtBucket,
  debtOf,
  flowsBeyond,
  refill,
  waitMs,
} from './debt-bucket.js';

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

const after = (taken: readonly Step[], from: DebtBucket = bucketOf(CAPACITY)): DebtBucket =>
  taken.reduce((bucket, step) => {
    if ('charge' in step) return bucket.level >= 1 ? charge(bucket, step.charge) : bucket;
    return refill(bucket, step.refill, CAPACITY).bucket;
  }, from);

const owedIn = (bucket: DebtBucket): number => flows.reduce((sum, flow) => sum + debtOf(bucket, flow), 0);

describe('a bucket', () => {
  it('is owed exactly what it lacks: each call is a debt of its flow until the refill has repaid it', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const bucket = after(taken);

        expect(owedIn(bucket)).toBeCloseTo(CAPACITY - bucket.level, 3);
      }),
    );
  });

  it('repays debtors evenly: a flow that owes more never falls below one that owes less', () => {
    fc.assert(
      fc.property(steps, fc.double({ min: 0, max: 60, noNaN: true }), (taken, amount) => {
        const before = after(taken);

        const { bucket } = refill(before, amount, CAPACITY);

        const repaid = flows.map((flow) => debtOf(before, flow) - debtOf(bucket, flow));
        const stillOwing = repaid.filter((_, index) => debtOf(bucket, flows[index] as string) > 0);
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

  it('discards refill beyond its capacity', () => {
    expect(refill(bucketOf(90), 25, CAPACITY)).toMatchObject({ bucket: { level: 100 }, overflow: 15 });
  });
});

describe('admission', () => {
  const drawnBy = (flow: string, calls: number): DebtBucket => charge(bucketOf(CAPACITY), flow, calls);

  it('lets one flow use a ninth of the bucket in one burst, and leaves the rest to others', () => {
    let bucket = bucketOf(CAPACITY);
    let calls = 0;
    for (; admits(bucket, 'a', free); calls += 1) bucket = charge(bucket, 'a');

    expect(calls).toBe(Math.floor(CAPACITY / 9));
    expect(admits(bucket, 'b', free)).toBe(true);
  });

  it('divides the bucket evenly among flows that take all they can', () => {
    let bucket = bucketOf(CAPACITY);
    for (const flow of Array.from({ length: 100 }, () => flows).flat()) {
      if (admits(bucket, flow, free)) bucket = charge(bucket, flow);
    }

    const debts = flows.map((flow) => debtOf(bucket, flow));
    expect(Math.max(...debts) - Math.min(...debts)).toBeLessThanOrEqual(1);
  });

  it('gives the last call to a flow without debt, and to no other', () => {
    const bucket = drawnBy('a', 99);

    expect([admits(bucket, 'a', free), admits(bucket, 'b', free)]).toEqual([false, true]);
    expect(admits(charge(bucket, 'b'), 'c', free)).toBe(false);
  });

  it('keeps the reserve that a flow must leave', () => {
    expect(admits(bucketOf(50.5), 'a', { left: 50, burst: 1 })).toBe(false);
    expect(admits(bucketOf(51), 'a', { left: 50, burst: 1 })).toBe(true);
  });

  it('names the flows above a bound', () => {
    const bucket = charge(charge(bucketOf(CAPACITY), 'a', 5), 'b', 2);

    expect(flowsBeyond(bucket, 2)).toEqual(['a']);
  });
});

describe('forecast of a wait', () => {
  it('is the time at which a flow that asks alone will be admitted', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(...flows), (taken, flow) => {
        const bucket = after(taken);
        const perMs = 0.001;

        const forecastMs = waitMs(bucket, flow, { others: 0, own: 0 }, free, perMs);

        const at = (ms: number): DebtBucket => refill(bucket, ms * perMs, CAPACITY).bucket;
        expect(admits(at(forecastMs + 1), flow, free)).toBe(true);
      }),
    );
  });

  it('counts the calls that come first', () => {
    const empty = bucketOf(0);

    expect(waitMs(empty, 'a', { others: 0, own: 0 }, free, 0.001)).toBe(1_000);
    expect(waitMs(empty, 'a', { others: 4, own: 0 }, free, 0.001)).toBe(5_000);
  });
});
