import { silentLog } from '@corral/service';
import { describe, expect, it } from '@jest/globals';
import { wakeWaiting } from './wake-waiting.js';

describe('the return of the garden', () => {
  function aWaker(markWaiting: () => Promise<{ id: string; inMs: number }[]>) {
    const woken: [string, number][] = [];
    const clock = { ms: 0 };
    const lookAgain = async (id: string, inMs: number) => void woken.push([id, inMs]);
    const wake = wakeWaiting({ news: { markWaiting }, wakeUps: { lookAgain }, log: silentLog, now: () => clock.ms });
    return { woken, clock, wake };
  }

  it('wakes all who wait, each at its moment', async () => {
    const { wake, woken } = aWaker(async () => [
      { id: 'a', inMs: 12 },
      { id: 'b', inMs: 1_900 },
    ]);

    await wake();

    expect(woken).toEqual([
      ['a', 12],
      ['b', 1_900],
    ]);
  });

  it('is asked about once, however many see it at the same time, and again later', async () => {
    let asked = 0;
    const { wake, clock } = aWaker(async () => {
      asked += 1;
      return [];
    });

    await Promise.all(Array.from({ length: 50 }, wake));
    expect(asked).toBe(1);
    clock.ms = 2_000;
    await wake();

    expect(asked).toBe(2);
  });

  it('fails nobody when it cannot be told', async () => {
    const { wake } = aWaker(() => Promise.reject(new Error('the database is away')));

    await expect(wake()).resolves.toBeUndefined();
  });
});
