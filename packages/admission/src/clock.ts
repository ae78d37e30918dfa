/** A monotonic clock with timers, replaceable in tests. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /**
   * Calls `run` once after `ms`.
   *
   * @param keepsAlive whether the process must not end before. Default: true
   * @returns a function that cancels the call
   */
  after(ms: number, run: () => void, keepsAlive?: boolean): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run, keepsAlive = true) {
    const timer = setTimeout(run, ms);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Lets time pass, or less of it when the signal aborts.
 *
 * @throws the reason of the signal
 */
export async function passTime(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => reject(signal.reason);
  const callOff = clock.after(ms, resolve);
  signal.addEventListener('abort', giveUp);
  return promise.finally(() => {
    callOff();
    signal.removeEventListener('abort', giveUp);
  });
}
