import { describe, expect, it } from '@jest/globals';
import { extendedExpiry } from './rules.js';

/** In seconds, like all times of the table. */
const HOUR = 3_600;
const DAY = 24 * HOUR;
const createdAt = new Date('2026-05-01T00:00:00Z');
const after = (seconds: number): Date => new Date(createdAt.getTime() + seconds * 1_000);

describe('a demo that is extended', () => {
  it.each([
    ['at once', 0, HOUR, HOUR],
    ['later', DAY, HOUR, DAY + HOUR],
    ['to a nearer time than before', 2, 300, 302],
    ['up to its seventh day', 6 * DAY, DAY, 7 * DAY],
    ['beyond its seventh day', 6 * DAY, DAY + 1, 7 * DAY],
    ['by the longest time', DAY, 7 * DAY, 7 * DAY],
  ])('%s lives for the requested time from then on, and at most seven days in all', (_when, then, ttl, end) => {
    expect(extendedExpiry(createdAt, after(then), ttl)).toEqual(after(end));
  });
});
