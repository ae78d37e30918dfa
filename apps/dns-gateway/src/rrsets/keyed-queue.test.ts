import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyedQueue, type QueueWait } from './keyed-queue.js';

/** Work whose end the test controls. */
function openWork<T>(value: T) {
  const { promise: result, resolve: end, reject: fail } = Promise.withResolvers<T>();
  const work = { begun: false, run: () => begin(), end: () => end(value), fail: (error: Error) => fail(error) };
  const begin = () => {
    work.begun = true;
    return result;
  };
  return work;
}
const patience = (waitMs: number, of: Partial<QueueWait> = {}): QueueWait => ({
  waitMs,
  gone: new AbortController().signal,
  enterQueue: () => () => undefined,
  ...of,
});
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a keyed queue', () => {
  it('runs work of the same key one after the other', async () => {
    const queue = keyedQueue();
    const [first, second] = [openWork(1), openWork(2)];
    const answers = [queue.run('k', patience(1_000), first.run), queue.run('k', patience(1_000), second.run)];

    await settled();
    expect([first.begun, second.begun]).toEqual([true, false]);
    first.end();
    await settled();
    expect(second.begun).toBe(true);
    second.end();
    expect(await Promise.all(answers)).toEqual([
      { kind: 'done', value: 1 },
      { kind: 'done', value: 2 },
    ]);
  });

  it('runs work of different keys concurrently', async () => {
    const queue = keyedQueue();
    const [one, other] = [openWork(1), openWork(2)];
    const answers = [queue.run('a', patience(1_000), one.run), queue.run('b', patience(1_000), other.run)];

    await settled();

    expect([one.begun, other.begun]).toEqual([true, true]);
    one.end();
    other.end();
    await Promise.all(answers);
  });

  it('continues after failed work, and rejects only its caller', async () => {
    const queue = keyedQueue();
    const broken = openWork(1);
    const first = queue.run('k', patience(1_000), broken.run);
    const second = queue.run('k', patience(1_000), async () => 2);

    broken.fail(new Error('broken'));

    await expect(first).rejects.toThrow('broken');
    expect(await second).toEqual({ kind: 'done', value: 2 });
  });

  it('never starts work after its wait time, and keeps the order of the others', async () => {
    const queue = keyedQueue();
    const [slow, late, patient] = [openWork(1), openWork(2), openWork(3)];
    const first = queue.run('k', patience(1_000), slow.run);
    const second = queue.run('k', patience(1), late.run);
    const third = queue.run('k', patience(1_000), patient.run);

    expect(await second).toEqual({ kind: 'late' });
    await settled();
    expect(patient.begun).toBe(false);
    slow.end();
    patient.end();

    expect(await Promise.all([first, third])).toEqual([
      { kind: 'done', value: 1 },
      { kind: 'done', value: 3 },
    ]);
    expect(late.begun).toBe(false);
  });

  it('drops work whose client disconnects, and keeps the order of the others', async () => {
    const queue = keyedQueue();
    const [slow, left, next] = [openWork(1), openWork(2), openWork(3)];
    const gone = new AbortController();
    const first = queue.run('k', patience(10_000), slow.run);
    const second = queue.run('k', patience(10_000, { gone: gone.signal }), left.run);
    const third = queue.run('k', patience(10_000), next.run);

    gone.abort();

    expect(await second).toEqual({ kind: 'gone' });
    await settled();
    expect(next.begun).toBe(false);
    slow.end();
    next.end();
    expect(await Promise.all([first, third])).toMatchObject([{ value: 1 }, { value: 3 }]);
    expect(left.begun).toBe(false);
  });

  it('takes a place only when it must wait, and releases it with its turn', async () => {
    const queue = keyedQueue();
    let places = 1;
    const enterQueue = () => {
      if (places === 0) return null;
      places -= 1;
      return () => {
        places += 1;
      };
    };
    const slow = openWork(1);
    const first = queue.run('k', patience(10_000, { enterQueue }), slow.run);
    expect(places).toBe(1);
    const second = queue.run('k', patience(10_000, { enterQueue }), async () => 2);
    expect(places).toBe(0);

    expect(await queue.run('k', patience(10_000, { enterQueue }), async () => 3)).toEqual({ kind: 'full' });
    slow.end();

    expect(await Promise.all([first, second])).toMatchObject([{ value: 1 }, { value: 2 }]);
    expect(places).toBe(1);
  });

  it('runs work immediately when the key is free, even without wait time', async () => {
    expect(await keyedQueue().run('k', patience(0), async () => 1)).toEqual({ kind: 'done', value: 1 });
  });

  it('keeps order and exclusion per key for any keys and durations', async () => {
    const job = fc.record({ key: fc.constantFrom('a', 'b', 'c'), turns: fc.nat({ max: 4 }), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(job, { maxLength: 20 }), async (jobs) => {
        const queue = keyedQueue();
        const running = new Map<string, number>();
        const order = new Map<string, number[]>();
        const runs = jobs.map(({ key, turns, fails }, index) =>
          queue.run(key, patience(10_000), async () => {
            expect(running.get(key) ?? 0).toBe(0);
            running.set(key, 1);
            order.set(key, [...(order.get(key) ?? []), index]);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            running.set(key, 0);
            if (fails) throw new Error(`job ${index}`);
            return index;
          }),
        );
        const results = await Promise.allSettled(runs);
        for (const indices of order.values()) expect(indices).toEqual([...indices].sort((a, b) => a - b));
        expect(results.map(({ status }) => status)).toEqual(
          jobs.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
        );
      }),
      { numRuns: 50 },
    );
  });
});
