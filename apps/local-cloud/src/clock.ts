/** The time of the whole local cloud: the machine's time plus what the admin has added. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Jumps forward by `ms` for everything that asks this clock. */
  advance(ms: number): void;
}

/** @param machineTime replaced by tests that need a fixed time */
export function createClock(machineTime: () => number = Date.now): Clock {
  let aheadMs = 0;
  return {
    now: () => machineTime() + aheadMs,
    advance: (ms) => {
      aheadMs += ms;
    },
  };
}

/** RFC 3339 in UTC with whole seconds, the form the upstream shows. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
