import { describe, expect, it } from '@jest/globals';
import { arrivals, quantile } from './arrivals.js';

describe('the requests of a play', () => {
  it('come as often as each kind says, in the order of time', () => {
    const all = arrivals({ read: 20, write: 1 }, 5);

    expect(all.filter(({ kind }) => kind === 'read')).toHaveLength(100);
    expect(all.filter(({ kind }) => kind === 'write').map(({ number }) => number)).toEqual([0, 1, 2, 3, 4]);
    expect(all.map(({ atMs }) => atMs)).toEqual(all.map(({ atMs }) => atMs).sort((one, other) => one - other));
    expect(all.every(({ atMs }) => atMs >= 0 && atMs < 5_000)).toBe(true);
  });
});

describe('a quantile', () => {
  it('is the value below which that part lies', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);

    expect([quantile(values, 0.5), quantile(values, 0.95), quantile(values, 1)]).toEqual([51, 96, 100]);
  });

  it('of nothing meets no aim', () => {
    expect(quantile([], 0.95) <= 25).toBe(false);
  });
});
