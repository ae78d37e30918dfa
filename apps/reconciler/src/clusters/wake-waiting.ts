import type { Log } from '@corral/service';
import { eachOf } from '../loop/wake-ups.js';

/** One who waited and is due now. */
export interface Woken {
  readonly id: string;
  /** Milliseconds until then. */
  readonly inMs: number;
}

/** Those who may wait for the garden: clusters, or servers that are nodes of some. */
export interface Waiters {
  /** Makes all of them due within the time given, each at a moment of its own. */
  readonly mark: (withinMs: number) => Promise<Woken[]>;
  readonly wake: (id: string, inMs: number) => Promise<void>;
}

export interface WakeWaitingDeps {
  readonly waiters: readonly Waiters[];
  readonly log: Log;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** With the time after which a watch, a probe or a pass finds out that the garden is back, below five seconds. */
const WITHIN_MS = 2_000;

/**
 * Wakes all who wait for the garden, because it was seen to be back: each at a moment of its own, so that it does not meet
 * all of them at once. However many see it, this process wakes once in that time, and once more after it: who met the end of
 * the absence only then has been waiting since. Never rejects: who is not woken looks by itself.
 */
export function wakeWaiting({ waiters, log, now = () => performance.now() }: WakeWaitingDeps) {
  let againAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const wakeAll = async ({ mark, wake }: Waiters): Promise<void> => {
    try {
      const woken = await mark(WITHIN_MS);
      if (woken.length > 0) log.info('garden is back', { woken: woken.length });
      await eachOf(woken, ({ id, inMs }) => wake(id, inMs));
    } catch (error) {
      log.warn('waiting rows not woken', { error });
    }
  };
  const wake = async (): Promise<void> => {
    const waitMs = againAt - now();
    if (waitMs > 0) {
      timer ??= setTimeout(() => void wake(), waitMs).unref();
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    againAt = now() + WITHIN_MS;
    await Promise.all(waiters.map(wakeAll));
  };
  return wake;
}
