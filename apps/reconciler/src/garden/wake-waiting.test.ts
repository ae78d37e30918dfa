import { silentLog } from '@corral/service';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { wakeWaiting } from './wake-waiting.js';

let clockIsLateMs = 0;
const now = () => Date.now() - clockIsLateMs;
beforeEach(() => {
  clockIsLateMs = 0;
  jest.useFakeTimers({ now: 0 });
});
afterEach(() => void jest.useRealTimers());

describe('the return of the garden', () => {
  const aWaker = (...wakers: (() => Promise<number>)[]) => wakeWaiting({ wakers, log: silentLog, now });
  const counted = () => {
    const calls = { count: 0 };
    const waker = async () => {
      calls.count += 1;
      return 0;
    };
    return { calls, waker };
  };

  it('is processed once for concurrent calls, and once more after the window', async () => {
    const { calls, waker } = counted();
    const wake = aWaker(waker);

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
    const { calls, waker } = counted();
    const wake = aWaker(waker);

    await wake();
    await wake();
    clockIsLateMs = 0.5;
    await jest.advanceTimersByTimeAsync(2_000);

    expect(calls.count).toBe(2);
  });

  it('is not processed again after a single call', async () => {
    const { calls, waker } = counted();
    const wake = aWaker(waker);

    await wake();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(calls.count).toBe(1);
    await wake();

    expect(calls.count).toBe(2);
  });

  it('does not reject when rows cannot be made due, and wakes the others', async () => {
    const { calls, waker } = counted();
    const wake = aWaker(() => Promise.reject(new Error('the database is away')), waker);

    await expect(wake()).resolves.toBeUndefined();

    expect(calls.count).toBe(1);
  });
});
