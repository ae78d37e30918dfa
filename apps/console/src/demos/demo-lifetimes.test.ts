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

  test.each([
    ['end with the longest one that is left', 60, 5 * 3_600, ['1 hour', '4 hours', 'as long as possible']],
    ['have the longest one alone', 60, 600, ['as long as possible']],
    ['never end it earlier', 4 * 3_600, 30 * 3_600, ['1 day', 'as long as possible']],
    ['are none at the last possible end', 5 * 3_600, 5 * 3_600, []],
    ['are none shortly before it', 100, 200, []],
    ['are none after it', -20, -10, []],
  ])('of an extension %s', (_what, present, longest, labels) => {
    expect(longer(present, longest)).toEqual(labels);
  });
});
