import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Moment, msSince } from './moment.js';

const then: Moment = { clock: 1_000_000, uptime: 50_000 };

describe('the time since a moment', () => {
  it.each<[what: string, now: Moment, ms: number | null]>([
    ['is the time that passed', { clock: 1_060_000, uptime: 110_000 }, 60_000],
    ['is right after the clock was set back', { clock: 400_000, uptime: 110_000 }, 60_000],
    ['is right after a start of the machine', { clock: 1_060_000, uptime: 3_000 }, 60_000],
    ['is too long after the clock was set forward', { clock: 9_000_000, uptime: 110_000 }, 8_000_000],
    ['is unknown after a start with a clock that is behind', { clock: 0, uptime: 3_000 }, null],
  ])('%s', (_what, now, ms) => {
    expect(msSince(then, now)).toBe(ms);
  });

  it('is never too short while the machine runs, whatever its clock shows', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), fc.integer(), (passed, clock) => {
        expect(msSince(then, { clock, uptime: then.uptime + passed })).toBeGreaterThanOrEqual(passed);
      }),
    );
  });
});
