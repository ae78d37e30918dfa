import { dnsLimits } from '@corral/contracts';
import { describe, expect, test } from '@jest/globals';
import { longerLifetimes, newLifetimes } from './demo-lifetimes.js';

const now = Date.UTC(2026, 10, 23, 12);
const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const longer = (present: number, longest: number) =>
  longerLifetimes({ expires_at: at(present), max_expires_at: at(longest) }, now).map(({ label }) => label);

describe('the lifetimes of a demo', () => {
  test('include the default and the longest one', () => {
    const seconds = newLifetimes.map((each) => each.seconds);

    expect(seconds).toContain(dnsLimits.demoTtlSecondsDefault);
    expect(seconds.at(-1)).toBe(dnsLimits.demoTtlSecondsMax);
  });

  test('of an extension end with the longest one that is left', () => {
    expect(longer(60, 5 * 3_600)).toEqual(['1 hour', '4 hours', 'as long as possible']);
    expect(longer(60, 600)).toEqual(['as long as possible']);
  });

  test('never end it earlier', () => {
    expect(longer(4 * 3_600, 30 * 3_600)).toEqual(['1 day', 'as long as possible']);
    expect(longer(5 * 3_600, 5 * 3_600)).toEqual([]);
  });

  test('are none shortly before its last possible end', () => {
    expect(longer(100, 200)).toEqual([]);
    expect(longer(-20, -10)).toEqual([]);
  });
});
