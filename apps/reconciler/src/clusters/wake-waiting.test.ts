import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Waiters, type Woken, wakeWaiting } from './wake-waiting.js';

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

describe('the return of the garden', () => {
  function aWaker(...marks: Waiters['mark'][]) {
    const woken: [string, number][] = [];
    const wake = async (id: string, inMs: number) => void woken.push([id, inMs]);
    const waiters = marks.map((mark) => ({ mark, wake }));
    return { woken, wake: wakeWaiting({ waiters, log: silentLog, now: () => Date.now() }) };
  }
  const counted = () => {
    const calls = { count: 0 };
    const mark = async (): Promise<Woken[]> => {
      calls.count += 1;
      return [];
    };
    return { calls, mark };
  };

  it('wakes all who wait, each at its moment', async () => {
    const clusters = async () => [
      { id: 'a', inMs: 12 },
      { id: 'b', inMs: 1_900 },
    ];
    const { wake, woken } = aWaker(clusters, async () => [{ id: 'server', inMs: 700 }]);

    await wake();

    expect(woken.toSorted()).toEqual([
      ['a', 12],
      ['b', 1_900],
      ['server', 700],
    ]);
  });

  it('is asked about once, however many see it at the same time, and once more when that time is over', async () => {
    const { calls, mark } = counted();
    const { wake } = aWaker(mark);

    await Promise.all(Array.from({ length: 50 }, wake));
    expect(calls.count).toBe(1);
    await jest.advanceTimersByTimeAsync(1_999);
    expect(calls.count).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(calls.count).toBe(2);

    await jest.advanceTimersByTimeAsync(60_000);
    expect(calls.count).toBe(2);
  });

  it('is not asked about again when one alone has seen it', async () => {
    const { calls, mark } = counted();
    const { wake } = aWaker(mark);

    await wake();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(calls.count).toBe(1);
    await wake();

    expect(calls.count).toBe(2);
  });

  it('fails nobody when it cannot be told, and wakes the others', async () => {
    const { wake, woken } = aWaker(
      () => Promise.reject(new Error('the database is away')),
      async () => [{ id: 'server', inMs: 1 }],
    );

    await expect(wake()).resolves.toBeUndefined();

    expect(woken).toEqual([['server', 1]]);
  });
});
