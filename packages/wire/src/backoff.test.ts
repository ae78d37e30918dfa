import { describe, expect, it } from '@jest/globals';
import { aroundMs, backoffMs, equalJitterMs, fullJitterMs, spreadMs } from './backoff.js';

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

  it('is drawn for each wait', () => {
    const drawn = Array.from({ length: 50 }, () => fullJitterMs(1, range));

    expect(new Set(drawn).size).toBeGreaterThan(1);
    expect(drawn.every((ms) => ms >= 0 && ms < 200)).toBe(true);
  });
});

describe('a wait with jitter', () => {
  it('is up to a fifth longer; an interval varies by a tenth', () => {
    expect([0, 1].map((random) => spreadMs(1_000, random))).toEqual([1_000, 1_200]);
    expect([0, 1].map((random) => Math.round(aroundMs(1_000, random)))).toEqual([900, 1_100]);
  });
});
