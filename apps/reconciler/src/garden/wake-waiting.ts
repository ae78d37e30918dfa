import type { Log } from '@corral/service';
export interface WakeWaitingDeps {
  /** Each makes the waiting rows of one kind due, sends their jobs, and returns their number. */
  readonly wakers: readonly (() => Promise<number>)[];
  readonly log: Log;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Rows that start to wait within this time after the garden was back, in milliseconds, are woken at its end. */
const AGAIN_MS = 2_000;

/**
 * Wakes all rows that wait for the garden after its return. The workers and their gates limit how many calls it gets at a time. For
 * concurrent calls, this process wakes once immediately and once more after a while, for rows that started to wait in the meantime. Never
 * rejects: rows that are not woken retry by themselves.
 */
export function wakeWaiting({ wakers, log, now = () => performance.now() }: WakeWaitingDeps) {
  let againAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const wakeAll = async (waker: () => Promise<number>): Promise<void> => {
    try {
      const woken = await waker();
      if (woken > 0) log.info('garden is back', { woken });
    } catch (error) {
      log.warn('waiting rows not woken', { error });
    }
  };
  const wakeNow = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    againAt = now() + AGAIN_MS;
    await Promise.all(wakers.map(wakeAll));
  };
  return async (): Promise<void> => {
    const waitMs = againAt - now();
    // The timer does not ask the clock again: it may fire a fraction of a millisecond early.
    if (waitMs > 0) timer ??= setTimeout(() => void wakeNow(), waitMs).unref();
    else await wakeNow();
  };
}
