import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import {
  answerWithin,
  aroundMs,
  backoffMs,
  equalJitterMs,
  fullJitterMs,
  orAborted,
  orLate,
  sleep,
  spreadMs,
} from './waits.js';

const gaveUp = new Error('gave up');
const never = new Promise<string>(() => undefined);

describe('waiting for work', () => {
  it('lasts until the work ends', async () => {
    const { signal } = new AbortController();

    expect(await orAborted(Promise.resolve('done'), signal, () => gaveUp)).toBe('done');
    expect(await orLate(Promise.resolve('done'), 50_000, () => gaveUp)).toBe('done');
  });

  it('ends with its signal, even with an earlier one, and after its time', async () => {
    const controller = new AbortController();
    const waiting = orAborted(never, controller.signal, () => gaveUp);
    controller.abort();

    await expect(waiting).rejects.toBe(gaveUp);
    await expect(orAborted(never, controller.signal, () => gaveUp)).rejects.toBe(gaveUp);
    await expect(orLate(never, 1, () => gaveUp)).rejects.toBe(gaveUp);
    expect(await answerWithin(never, -1, null)).toBeNull();
  });
});

describe('a sleep', () => {
  it('lasts its time, and leaves no listener on its signal', async () => {
    const { signal } = new AbortController();

    expect([await sleep(1), await sleep(1, signal)]).toEqual([true, true]);

    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('ends at once with its signal, even with one that aborted before', async () => {
    const controller = new AbortController();
    const asleep = sleep(1_000_000, controller.signal);
    controller.abort();

    expect([await asleep, await sleep(1_000_000, controller.signal)]).toEqual([false, false]);
  });
});

const range = { firstMs: 100, maxMs: 1_000 };

describe('backoff', () => {
  it.each([
    [0, 100],
    [1, 200],
    [3, 800],
    [4, 1_000],
    [5_000, 1_000],
  ])('after %d earlier failures is %d ms', (failuresBefore, ms) => {
    expect(backoffMs(failuresBefore, range)).toBe(ms);
  });

  it.each([
    [0, 0, 100],
    [0.5, 100, 150],
    [1, 200, 200],
  ])('with jitter at %d is %d ms in full and %d ms in equal parts', (random, full, equal) => {
    expect([fullJitterMs(1, range, random), equalJitterMs(1, range, random)]).toEqual([full, equal]);
  });
});

describe('a wait with jitter', () => {
  it('is up to a fifth longer; an interval varies by a tenth', () => {
    expect([0, 1].map((random) => spreadMs(1_000, random))).toEqual([1_000, 1_200]);
    expect([0, 1].map((random) => Math.round(aroundMs(1_000, random)))).toEqual([900, 1_100]);
  });
});
