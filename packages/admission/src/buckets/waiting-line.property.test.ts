import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Bucket, type BucketRule, returnTokens, takeToken } from './token-bucket.js';
import {
  type Clock,
  emptyLine,
  enter,
  keyedSemaphore,
  leave,
  serve,
  type WaitingLine,
  waitingLines,
} from './waiting-lines.js';

const rule: BucketRule = { capacity: 4, periodMs: 4_000 };
const PATIENCE_MS = 10_000;

type Event =
  | { readonly pause: number; readonly what: 'comes' }
  | { readonly pause: number; readonly what: 'leaves'; readonly who: number };
const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    fc.record({ pause: fc.nat(1_500), what: fc.constant('comes' as const) }),
    fc.record({ pause: fc.nat(1_500), what: fc.constant('leaves' as const), who: fc.nat(10) }),
  ),
  { maxLength: 120 },
);

/** Simulates a bucket and its line through the events. */
function play(through: readonly Event[]) {
  let now = 0;
  let bucket: Bucket | undefined;
  let line: WaitingLine<number> = emptyLine;
  let arrivals = 0;
  const served: { id: number; at: number }[] = [];
  const left: number[] = [];
  const arrivedAt = new Map<number, number>();
  const pass = (until: number): void => {
    for (;;) {
      const [next = Number.POSITIVE_INFINITY] = line.slots;
      if (next > until) break;
      now = Math.max(now, next);
      const after = serve(line, now);
      line = after.line;
      for (const id of after.served) served.push({ id, at: now });
    }
    now = until;
  };
  for (const event of through) {
    pass(now + event.pause);
    if (event.what === 'comes') {
      const { bucket: after, taken } = takeToken(bucket, rule, now, PATIENCE_MS);
      bucket = after;
      if (!taken.allowed) continue;
      arrivals += 1;
      arrivedAt.set(arrivals, now);
      if (taken.waitMs > 0) line = enter(line, arrivals, now + taken.waitMs);
      else served.push({ id: arrivals, at: now });
    } else {
      const id = line.waiters[event.who % Math.max(1, line.waiters.length)];
      const after = id === undefined ? null : leave(line, id);
      if (id === undefined || after === null) continue;
      line = after;
      left.push(id);
      bucket = returnTokens(bucket, rule, now).bucket;
    }
  }
  pass(now + 2 * PATIENCE_MS);
  return { served, left, arrivedAt, arrivals, line };
}

describe('requests waiting for one bucket', () => {
  it('are served in order of arrival, even when others leave', () => {
    fc.assert(
      fc.property(events, (through) => {
        const ids = play(through).served.map(({ id }) => id);
        expect(ids).toEqual([...ids].sort((one, other) => one - other));
      }),
    );
  });

  it('are all served within their patience unless they leave', () => {
    fc.assert(
      fc.property(events, (through) => {
        const { served, left, arrivedAt, arrivals, line } = play(through);
        expect(served.length + left.length).toBe(arrivals);
        expect(line.waiters).toEqual([]);
        for (const { id, at } of served) expect(at - Number(arrivedAt.get(id))).toBeLessThanOrEqual(PATIENCE_MS + 1);
      }),
    );
  });

  it('are never served beyond the rule', () => {
    fc.assert(
      fc.property(events, (through) => {
        const { served } = play(through);
        for (const [first, { at: from }] of served.entries()) {
          for (const [last, { at: to }] of served.entries()) {
            if (last < first) continue;
            const most = rule.capacity + ((to - from) * rule.capacity) / rule.periodMs;
            // Waits are rounded to whole milliseconds.
            expect(last - first + 1).toBeLessThanOrEqual(most + 0.01);
          }
        }
      }),
    );
  });

  it('move up when one of them leaves', () => {
    const three = [1, 2, 3].reduce<WaitingLine<number>>((line, id) => enter(line, id, id * 1_000), emptyLine);

    const two = leave(three, 1);

    expect(two).toEqual({ waiters: [2, 3], slots: [1_000, 2_000] });
    expect(leave(three, 4)).toBeNull();
  });
});

/** A clock that the test advances. */
function aClock(): Clock & { pass(ms: number): void; timers(): number } {
  let now = 0;
  const timers = new Map<object, { at: number; run: () => void }>();
  return {
    now: () => now,
    after(ms, run) {
      const key = {};
      timers.set(key, { at: now + ms, run });
      return () => void timers.delete(key);
    },
    pass(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(([, { at }]) => at <= until).sort(([, one], [, other]) => one.at - other.at);
        if (next === undefined) break;
        timers.delete(next[0]);
        now = next[1].at;
        next[1].run();
      }
      now = until;
    },
    timers: () => timers.size,
  };
}

describe('the waiting lines of a process', () => {
  it('have one timer each, and none when no request waits', async () => {
    const clock = aClock();
    const lines = waitingLines(clock);
    const here = new AbortController().signal;
    const turns = [lines.wait('a', 1_000, here), lines.wait('a', 2_000, here), lines.wait('b', 500, here)];
    expect(clock.timers()).toBe(2);

    clock.pass(2_000);

    expect(await Promise.all(turns)).toEqual([true, true, true]);
    expect(clock.timers()).toBe(0);
  });

  it('release a request that leaves, and pass its turn to the next', async () => {
    const clock = aClock();
    const lines = waitingLines(clock);
    const gone = new AbortController();
    const left = lines.wait('a', 1_000, gone.signal);
    const next = lines.wait('a', 2_000, new AbortController().signal);

    gone.abort();
    expect(await left).toBe(false);
    clock.pass(1_000);

    expect(await next).toBe(true);
    expect(clock.timers()).toBe(0);
  });

  it('are not joined by a request that was aborted before', async () => {
    const clock = aClock();

    expect(await waitingLines(clock).wait('a', 1_000, AbortSignal.abort())).toBe(false);
    expect(clock.timers()).toBe(0);
  });
});

describe('keyedSemaphore', () => {
  it('limits the places per key, and counts a place released twice once', () => {
    const places = keyedSemaphore(2);
    const leave = places.tryAcquire('a') as () => void;
    expect(places.tryAcquire('a')).not.toBeNull();
    expect(places.tryAcquire('a')).toBeNull();
    expect(places.tryAcquire('b')).not.toBeNull();

    leave();
    leave();

    expect(places.tryAcquire('a')).not.toBeNull();
    expect(places.tryAcquire('a')).toBeNull();
  });
});
