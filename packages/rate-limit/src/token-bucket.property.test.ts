import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { memoryBuckets } from './buckets.js';
import { type Bucket, type BucketRule, takeToken } from './token-bucket.js';

const rule: fc.Arbitrary<BucketRule> = fc.record({
  capacity: fc.integer({ min: 1, max: 50 }),
  periodMs: fc.integer({ min: 1_000, max: 60_000 }),
});
const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat(3_000)), { minLength: 1, maxLength: 150 });

/** Takes after each pause. @returns the time of each token that was given */
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
  it('gives in any span at most its capacity and what flows in during it', () => {
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

  it('loses nothing by a refusal: asking in vain in between changes no later answer', () => {
    fc.assert(
      fc.property(rule, pauses, fc.nat(20), (of, after, inVain) => {
        const impatient = after.flatMap((pause) => [pause, ...Array.from({ length: inVain }, () => 0)]);
        // All that is there at a moment is taken at that moment, however often one asks.
        expect(grantsOf(of, impatient).length).toBeGreaterThanOrEqual(grantsOf(of, after).length);

        let bucket: Bucket = { tokens: 0.5, at: 0 };
        for (let time = 0; time <= inVain; time += 1) bucket = takeToken(bucket, of, 0).bucket;
        expect(bucket).toEqual({ tokens: 0.5, at: 0 });
      }),
    );
  });

  it('always gives after the time it names, and is full after the time it names', () => {
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

  it('is full when it was never used, and counts down from there', () => {
    const of = { capacity: 3, periodMs: 60_000 };
    const first = takeToken(undefined, of, 7);

    expect(first.taken).toEqual({ allowed: true, remaining: 2, fullInMs: 20_000, retryInMs: 0 });
    const second = takeToken(first.bucket, of, 7);
    const third = takeToken(second.bucket, of, 7);
    expect(third.taken).toEqual({ allowed: true, remaining: 0, fullInMs: 60_000, retryInMs: 20_000 });
    expect(takeToken(third.bucket, of, 7).taken).toEqual({ ...third.taken, allowed: false });
  });

  it('gives nothing for a clock that goes back', () => {
    const of = { capacity: 1, periodMs: 1_000 };
    const { bucket } = takeToken(undefined, of, 10_000);

    expect(takeToken(bucket, of, 5_000).taken.allowed).toBe(false);
  });
});

describe('buckets in memory', () => {
  it('are one for each key', () => {
    const buckets = memoryBuckets(() => 0);
    const of = { capacity: 1, periodMs: 1_000 };

    const taken = ['a', 'a', 'b', 'b'].map((key) => buckets.take(key, of));

    expect(taken).toMatchObject([{ allowed: true }, { allowed: false }, { allowed: true }, { allowed: false }]);
  });

  it('fill up as time passes', () => {
    let now = 0;
    const buckets = memoryBuckets(() => now);
    const of = { capacity: 2, periodMs: 1_000 };
    const take = () => (buckets.take('a', of) as { allowed: boolean }).allowed;

    expect([take(), take(), take()]).toEqual([true, true, false]);
    now = 500;
    expect([take(), take()]).toEqual([true, false]);
  });
});
