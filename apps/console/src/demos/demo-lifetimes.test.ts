import { dnsLimits } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { lifetimesLeft, newLifetimes } from './demo-lifetimes.js';

const now = Date.UTC(2026, 10, 23, 12);
const left = (seconds: number) =>
  lifetimesLeft({ max_expires_at: new Date(now + seconds * 1_000).toISOString() }, now).map(({ label }) => label);

describe('the lifetimes of a demo', () => {
  test('include the default and the longest one', () => {
    const seconds = newLifetimes.map((each) => each.seconds);

    expect(seconds).toContain(dnsLimits.demoTtlSecondsDefault);
    expect(seconds.at(-1)).toBe(dnsLimits.demoTtlSecondsMax);
  });

  test('that it can be set to end with the longest one that is left', () => {
    expect(left(5 * 3_600)).toEqual(['1 hour', '4 hours', 'as long as possible']);
    expect(left(600)).toEqual(['as long as possible']);
  });

  test('are none shortly before its last possible end', () => {
    expect(left(200)).toEqual([]);
    expect(left(-10)).toEqual([]);
  });
});
