import { asClusterId, asServerId } from '@corral/contracts';
import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Waiters, type Woken, wakeWaiting } from './wake-waiting.js';

let clockIsLateMs = 0;
const now = () => Date.now() - clockIsLateMs;
beforeEach(() => {
  clockIsLateMs = 0;
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => void jest.useRealTimers());

describe('the return of the garden', () => {
  function aWaker(...makersDue: Waiters['makeDue'][]) {
    const woken: [string, number][] = [];
    const wake = async (id: string, inMs: number) => void woken.push([id, inMs]);
    const waiters = makersDue.map((makeDue) => ({ makeDue, wake }));
    return { woken, wake: wakeWaiting({ waiters, log: silentLog, now }) };
  }
  const counted = () => {
    const calls = { count: 0 };
    const makeDue = async (): Promise<Woken[]> => {
      calls.count += 1;
      return [];
    };
    return { calls, makeDue };
  };

  it('wakes all waiting rows, each with its own delay', async () => {
    const clusters = async () => [
      { id: asClusterId('a'), inMs: 12 },
      { id: asClusterId('b'), inMs: 1_900 },
    ];
    const { wake, woken } = aWaker(clusters, async () => [{ id: asServerId('server'), inMs: 700 }]);

    await wake();

    expect(woken.toSorted()).toEqual([
      ['a', 12],
      ['b', 1_900],
      ['server', 700],
    ]);
  });

  it('is processed once for concurrent calls, and once more after the window', async () => {
    const { calls, makeDue } = counted();
    const { wake } = aWaker(makeDue);

    await Promise.all(Array.from({ length: 50 }, wake));
    expect(calls.count).toBe(1);
    await jest.advanceTimersByTimeAsync(1_999);
    expect(calls.count).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(calls.count).toBe(2);

    await jest.advanceTimersByTimeAsync(60_000);
    expect(calls.count).toBe(2);
  });

  it('is processed after the window although the timer fires before the clock shows its end', async () => {
    const { calls, makeDue } = counted();
    const { wake } = aWaker(makeDue);

    await wake();
    await wake();
    clockIsLateMs = 0.5;
    await jest.advanceTimersByTimeAsync(2_000);

    expect(calls.count).toBe(2);
  });

  it('is not processed again after a single call', async () => {
    const { calls, makeDue } = counted();
    const { wake } = aWaker(makeDue);

    await wake();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(calls.count).toBe(1);
    await wake();

    expect(calls.count).toBe(2);
  });

  it('does not reject when rows cannot be made due, and wakes the others', async () => {
    const { wake, woken } = aWaker(
      () => Promise.reject(new Error('the database is away')),
      async () => [{ id: asServerId('server'), inMs: 1 }],
    );

    await expect(wake()).resolves.toBeUndefined();

    expect(woken).toEqual([['server', 1]]);
  });
});
