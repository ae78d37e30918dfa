/** Time as those who wait see it. Tests have one of their own. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /** Calls once, after so long. @returns what calls it off */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
