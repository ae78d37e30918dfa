import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Clock, createClock, DueQueue } from './clock.js';

let clock: Clock;
let queue: DueQueue;
let due: string[];
beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  clock = createClock();
  due = [];
  queue = new DueQueue(clock, (key) => due.push(key));
});
afterEach(() => {
  queue.close();
  jest.useRealTimers();
});

describe('the queue of due times', () => {
  it('calls back in order of time and never early', () => {
    for (const [key, afterMs] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
    ] as const) {
      queue.add(key, afterMs);
    }

    jest.advanceTimersByTime(20);

    expect([due, queue.size]).toEqual([['a', 'b'], 1]);
  });

  it('keeps only the last time given for a key', () => {
    queue.add('a', 10);
    queue.add('a', 30);

    jest.advanceTimersByTime(29);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(due).toEqual(['a']);
  });

  it('does not call back for a removed key', () => {
    queue.add('a', 10);
    queue.remove('a');

    jest.advanceTimersByTime(100);

    expect([due, queue.size]).toEqual([[], 0]);
  });

  it('follows jumps of the clock', () => {
    queue.add('a', 3_600_000);

    clock.advance(3_600_000);
    jest.advanceTimersByTime(0);

    expect(due).toEqual(['a']);
  });

  it('waits longer than the maximum delay of a timer', () => {
    const month = 31 * 86_400_000;
    queue.add('a', month);

    jest.advanceTimersByTime(month - 1);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(due).toEqual(['a']);
  });

  it('keeps no timer while it is empty or closed', () => {
    queue.add('a', 10);
    jest.advanceTimersByTime(10);
    expect(jest.getTimerCount()).toBe(0);

    queue.add('b', 10);
    queue.close();

    expect(jest.getTimerCount()).toBe(0);
  });
});
