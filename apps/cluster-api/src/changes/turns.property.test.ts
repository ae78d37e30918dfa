import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TurnRefused, type TurnsOptions, turns } from './turns.js';

const WAIT_MS = 10;
const bounds = { waitingPerKey: 3, waitingInAll: 6, waitMs: WAIT_MS };

interface Work {
  readonly key: string;
  readonly index: number;
  readonly arrivedAt: number;
  readonly controller: AbortController;
  begunAt: number | null;
  /** `done`, or why it never started. */
  end: string | null;
  finish(): void;
}

/** Turns with a simulated clock. Records all work. */
function setUp(options: Partial<TurnsOptions> = {}) {
  let now = 0;
  let steps = 0;
  const timers = new Set<{ at: number; then: () => void }>();
  const all: Work[] = [];
  const begun: Work[] = [];
  const queue = turns({
    ...bounds,
    concurrency: 2,
    after(ms, then) {
      const timer = { at: now + ms, then };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    ...options,
  });
  return {
    all,
    begun,
    queue,
    timers,
    arrive(key: string): Work {
      const work: Work = {
        key,
        index: all.length,
        arrivedAt: now,
        controller: new AbortController(),
        begunAt: null,
        end: null,
        finish: () => undefined,
      };
      all.push(work);
      const begin = (): Promise<void> => {
        if (work.end !== null) throw new Error(`Begun after its end: ${work.end}`);
        work.begunAt = steps;
        begun.push(work);
        return new Promise((resolve) => {
          work.finish = resolve;
        });
      };
      queue.take(key, work.controller.signal, begin).then(
        () => {
          work.end = 'done';
        },
        (error: unknown) => {
          work.end = error instanceof TurnRefused ? `${error.whose} ${error.why}` : 'gone';
        },
      );
      return work;
    },
    pass(ms: number): void {
      now += ms;
      for (const timer of [...timers]) {
        if (timer.at > now || !timers.delete(timer)) continue;
        timer.then();
      }
    },
    running: () => all.filter(({ begunAt, end }) => begunAt !== null && end === null),
    waiting: () => all.filter(({ begunAt, end }) => begunAt === null && end === null),
    now: () => now,
    /** Waits until all consequences of the last step have happened. */
    async settle(): Promise<void> {
      steps += 1;
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    },
  };
}

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), which: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), which: fc.nat(10) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: WAIT_MS }) }) },
);

describe('turns', () => {
  it('run one work item per key at a time, within all limits, and never one that was given up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const t = setUp();
        for (const what of steps) {
          if (what.kind === 'arrive') t.arrive(what.key);
          else if (what.kind === 'pass') t.pass(what.ms);
          else if (what.kind === 'finish')
            t.running()
              .at(what.which % Math.max(1, t.running().length))
              ?.finish();
          else
            t.waiting()
              .at(what.which % Math.max(1, t.waiting().length))
              ?.controller.abort(new Error('gone'));
          await t.settle();

          const [running, waiting] = [t.running(), t.waiting()];
          expect(new Set(running.map(({ key }) => key)).size).toBe(running.length);
          expect(running.length).toBeLessThanOrEqual(2);
          expect(waiting.length).toBe(t.queue.countWaiting());
          expect(waiting.length).toBeLessThanOrEqual(bounds.waitingInAll);
          for (const { key, arrivedAt } of waiting) {
            expect(waiting.filter((other) => other.key === key).length).toBeLessThanOrEqual(bounds.waitingPerKey);
            expect(t.now() - arrivedAt).toBeLessThan(WAIT_MS);
          }
          // No slot is free while work could run.
          const keys = new Set(running.map(({ key }) => key));
          if (running.length < 2) expect(waiting.filter(({ key }) => !keys.has(key))).toEqual([]);
          expect(t.timers.size).toBe(waiting.length);
        }
      }),
    );
  });

  it('keep the order of work within a key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const t = setUp();
        for (const what of steps) {
          if (what.kind === 'arrive') t.arrive(what.key);
          if (what.kind === 'finish') t.running()[0]?.finish();
          await t.settle();
        }

        for (const key of ['a', 'b', 'c', 'd']) {
          const order = t.begun.filter((work) => work.key === key).map(({ index }) => index);
          expect(order).toEqual(order.toSorted((one, other) => one - other));
        }
      }),
    );
  });

  it('rotate between all waiting keys, however much work one of them has', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.constantFrom('a', 'a', 'a', 'b', 'c'), { minLength: 5, maxLength: 40 }),
        async (concurrency, keys) => {
          const t = setUp({ concurrency, waitingPerKey: 100, waitingInAll: 100 });
          for (const key of keys) t.arrive(key);
          await t.settle();
          while (t.running().length > 0) {
            const running = new Set(t.running().map(({ key }) => key));
            const waiting = t.waiting().map(({ key }) => key);
            const waitingBefore = new Set(waiting.filter((key) => !running.has(key)));
            const before = t.begun.length;
            // Within as many completions as there are keys, each waiting key gets a turn.
            for (let end = 0; end < waitingBefore.size + concurrency; end += 1) {
              t.running()[0]?.finish();
              await t.settle();
            }
            const served = new Set(t.begun.slice(before).map(({ key }) => key));
            for (const key of waitingBefore) expect(served).toContain(key);
          }

          expect(t.all.map(({ end }) => end)).toEqual(keys.map(() => 'done'));
        },
      ),
    );
  });

  it('alternate between a key with much work and one with little', async () => {
    const t = setUp({ concurrency: 1, waitingPerKey: 10, waitingInAll: 20 });
    for (const key of ['a', 'a', 'a', 'a', 'b', 'b']) t.arrive(key);
    for (let end = 0; end < 6; end += 1) {
      t.running()[0]?.finish();
      await t.settle();
    }

    expect(t.begun.map(({ key }) => key).join('')).toBe('aababa');
  });

  it('continue after failed work', async () => {
    const t = setUp({ concurrency: 1 });
    const { signal } = new AbortController();
    const failed = t.queue.take('a', signal, () => {
      throw new Error('at once');
    });
    const next = t.queue.take('a', signal, async () => 'next');

    await expect(failed).rejects.toThrow('at once');
    expect(await next).toBe('next');
  });

  it('are refused after the caller has disconnected', async () => {
    const t = setUp();
    const work = async () => 'never';

    await expect(t.queue.take('a', AbortSignal.abort(new Error('gone')), work)).rejects.toThrow('gone');
  });

  it.each([
    ['own full', { waitingPerKey: 1 }, ['a', 'a', 'a'], 0],
    ['others full', { waitingInAll: 1 }, ['a', 'a', 'b', 'b', 'b'], 0],
    ['own slow', {}, ['a', 'a'], WAIT_MS],
    ['others slow', {}, ['a', 'b', 'c'], WAIT_MS],
  ])('are refused with the cause: %s', async (why, options, keys, ms) => {
    const t = setUp(options);
    for (const key of keys) t.arrive(key);
    await t.settle();
    t.pass(ms);
    await t.settle();

    expect(t.all.at(-1)?.end).toBe(why);
  });
});
