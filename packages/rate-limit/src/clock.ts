/** A monotonic clock with timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /** Calls `run` once after `ms`. @returns a function that cancels the call */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
