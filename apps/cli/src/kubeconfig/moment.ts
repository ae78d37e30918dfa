import os from 'node:os';

/** A time by two clocks, in ms: the one that people and time servers set, and the time since the machine was started. */
export interface Moment {
  readonly clock: number;
  readonly uptime: number;
}

export const momentNow = (): Moment => ({ clock: Date.now(), uptime: os.uptime() * 1_000 });

/**
 * Time since a moment, in ms. The uptime knows it however the clock was set, but begins again with each start of the machine. So
 * the longer time counts: too long after the clock was set forward, and too short only if a machine was started with a clock
 * that is behind.
 *
 * @returns null after a start of the machine if its clock was set back, too
 */
export function msSince(then: Moment, now: Moment): number | null {
  const [byClock, byUptime] = [now.clock - then.clock, now.uptime - then.uptime];
  const longer = Math.max(byClock, byUptime);
  return longer < 0 ? null : longer;
}
