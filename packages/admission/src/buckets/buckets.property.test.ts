import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Bucket, type BucketRule, type Buckets, memoryBuckets, returnTokens, takeToken } from './buckets.js';

const rule: fc.Arbitrary<BucketRule> = fc.record({
  capacity: fc.integer({ min: 1, max: 50 }),
  periodMs: fc.integer({ min: 1_000, max: 60_000 }),
});
const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat(3_000)), { minLength: 1, maxLength: 150 });

/** Takes a token after each pause. @returns the times of the granted tokens */
function grantsOf(of: BucketRule, after: readonly number[]): number[] {
  let now = 1_000_000;
  let bucket: Bucket | undefined;
  const grants: number[] = [];
  for (const pause of after) {
    now += pause;
    const next = takeToken(bucket, of, now);
    bucket = next.bucket;
    if (next.taken.allowed) grants.push(now);
  }
  return grants;
}

describe('a token bucket', () => {
  it('grants in any span at most its capacity plus what flows in', () => {
    fc.assert(
      fc.property(rule, pauses, (of, after) => {
        const grants = grantsOf(of, after);
        for (const [first, from] of grants.entries()) {
          for (const [last, to] of grants.entries()) {
            if (last < first) continue;
            const most = of.capacity + ((to - from) * of.capacity) / of.periodMs;
            expect(last - first + 1).toBeLessThanOrEqual(most + 1e-6);
          }
        }
      }),
    );
  });

  it('grants after `retryInMs`, and is full after `fullInMs`', () => {
    fc.assert(
      fc.property(rule, fc.double({ min: 0, max: 1, noNaN: true }), (of, share) => {
        const now = 5_000;
        const { bucket, taken } = takeToken({ tokens: share * of.capacity, at: now }, of, now);

        const later = takeToken(bucket, of, now + taken.retryInMs).taken;
        expect(later.allowed).toBe(true);
        expect(takeToken(bucket, of, now + taken.fullInMs).taken.remaining).toBe(of.capacity - 1);
      }),
    );
  });

  it('is full when unused and counts down from there', () => {
    const of = { capacity: 3, periodMs: 60_000 };
    const first = takeToken(undefined, of, 7);

    expect(first.taken).toEqual({ allowed: true, remaining: 2, fullInMs: 20_000, retryInMs: 0, waitMs: 0 });
    const second = takeToken(first.bucket, of, 7);
    const third = takeToken(second.bucket, of, 7);
    expect(third.taken).toEqual({ allowed: true, remaining: 0, fullInMs: 60_000, retryInMs: 20_000, waitMs: 0 });
    expect(takeToken(third.bucket, of, 7).taken).toEqual({ ...third.taken, allowed: false });
  });

  it('grants nothing when the clock goes back', () => {
    const of = { capacity: 1, periodMs: 1_000 };
    const { bucket } = takeToken(undefined, of, 10_000);

    expect(takeToken(bucket, of, 5_000).taken.allowed).toBe(false);
  });
});

const steps = fc.array(
  fc.record({ pause: fc.oneof(fc.constant(0), fc.nat(3_000)), gives: fc.boolean(), patienceMs: fc.nat(20_000) }),
  { minLength: 1, maxLength: 100 },
);

/**
 * Takes a token, or gives back one of those taken, after each pause. @returns each state, with the times at which
 * tokens are available
 */
function walk(of: BucketRule, through: readonly { pause: number; gives: boolean; patienceMs: number }[]) {
  let now = 0;
  let bucket: Bucket | undefined;
  let held = 0;
  return through.map(({ pause, gives, patienceMs }) => {
    now += pause;
    const isReturn = gives && held > 0;
    if (isReturn) {
      bucket = returnTokens(bucket, of, now);
      held -= 1;
      return { now, bucket, patienceMs, taken: null };
    }
    const next = takeToken(bucket, of, now, patienceMs);
    bucket = next.bucket;
    if (next.taken.allowed) held += 1;
    return { now, bucket, patienceMs, taken: next.taken };
  });
}

describe('a token bucket with returned tokens', () => {
  it('never holds more than its capacity, nor owes more than that', () => {
    fc.assert(
      fc.property(rule, steps, (of, through) => {
        for (const { bucket } of walk(of, through)) {
          expect(bucket.tokens).toBeLessThanOrEqual(of.capacity);
          expect(bucket.tokens).toBeGreaterThanOrEqual(-of.capacity - 1e-6);
        }
      }),
    );
  });

  it('behaves as if a returned token had never been taken', () => {
    fc.assert(
      fc.property(rule, fc.double({ min: 1, max: 50, noNaN: true }), (of, level) => {
        const before = { tokens: Math.min(of.capacity, level), at: 0 };
        const { bucket } = takeToken(before, of, 0);

        expect(returnTokens(bucket, of, 0).tokens).toBeCloseTo(before.tokens, 6);
      }),
    );
  });
});

describe('a token taken in advance', () => {
  it('is available within the patience, and not before enough has flowed in', () => {
    fc.assert(
      fc.property(rule, steps, (of, through) => {
        const taken = walk(
          of,
          through.map((step) => ({ ...step, gives: false })),
        );
        const grants: number[] = [];
        for (const { now, patienceMs, taken: each } of taken) {
          if (each?.allowed !== true) continue;
          expect(each.waitMs).toBeLessThanOrEqual(patienceMs + 1);
          grants.push(now + each.waitMs);
          const most = of.capacity + ((now + each.waitMs) * of.capacity) / of.periodMs;
          expect(grants.length).toBeLessThanOrEqual(most + 1e-6);
        }
        // Grants come in the order of arrival.
        expect(grants).toEqual([...grants].sort((one, other) => one - other));
      }),
    );
  });

  it('makes impatient callers come back after all waiting ones', () => {
    const of = { capacity: 2, periodMs: 60_000 };
    const empty: Bucket = { tokens: 0, at: 0 };

    const first = takeToken(empty, of, 0, 60_000);
    const second = takeToken(first.bucket, of, 0, 60_000);
    const read = takeToken(second.bucket, of, 0);

    expect([first, second].map(({ taken }) => taken.waitMs)).toEqual([30_000, 60_000]);
    expect(read.taken).toMatchObject({ allowed: false, remaining: 0, retryInMs: 90_000 });
    expect(takeToken(second.bucket, of, 90_000).taken.allowed).toBe(true);
  });

  it('is refused at no cost when it would not be available in time', () => {
    const of = { capacity: 2, periodMs: 60_000 };
    const { bucket, taken } = takeToken({ tokens: 0, at: 0 }, of, 0, 29_000);

    expect([taken.allowed, bucket.tokens]).toEqual([false, 0]);
  });
});

const take = async (buckets: Buckets, rule: BucketRule, ...keys: string[]): Promise<boolean[]> =>
  (await buckets.take(keys.map((key) => ({ key, rule })))).map(({ allowed }) => allowed);

describe('the part of a process', () => {
  const granted = async (processes: number, capacity: number): Promise<number> => {
    const buckets = memoryBuckets(() => 0, { count: processes });
    let count = 0;
    while ((await take(buckets, { capacity, periodMs: 60_000 }, 'a'))[0]) count += 1;
    return count;
  };

  it('adds up to no more than the whole, and is at least one request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 600 }),
        async (processes, capacity) => {
          const part = await granted(processes, capacity);
          expect(part).toBeGreaterThanOrEqual(1);
          if (part > 1) expect(part * processes).toBeLessThanOrEqual(capacity);
        },
      ),
    );
    expect([await granted(1, 120), await granted(3, 120), await granted(500, 120)]).toEqual([120, 40, 1]);
  });
});
