/** The time of the whole local cloud: the machine's time plus what the admin has added. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Jumps forward by `ms` for everything that asks this clock. */
  advance(ms: number): void;
  /** Tells whoever waits for a time on this clock that it has jumped. @returns a function that ends it */
  onAdvance(listener: () => void): () => void;
}

/** @param machineTime replaced by tests that need a fixed time */
export function createClock(machineTime: () => number = Date.now): Clock {
  let aheadMs = 0;
  const listeners = new Set<() => void>();
  return {
    now: () => machineTime() + aheadMs,
    advance: (ms) => {
      aheadMs += ms;
      for (const listener of [...listeners]) listener();
    },
    onAdvance: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** RFC 3339 in UTC with whole seconds, the form the upstream shows. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
