import type { Log } from '@corral/service';
import type { LeasedId } from '../loop/leases.js';
import { eachOf } from '../loop/wake-ups.js';

/** A row that waited and is due now. */
export interface Woken {
  readonly id: LeasedId;
  /** Milliseconds until then. */
  readonly inMs: number;
}

/** Rows that may wait for the garden: clusters, or servers that are nodes of clusters. */
export interface Waiters {
  /** Makes all of them due within the given milliseconds, spread over that time. */
  readonly makeDue: (withinMs: number) => Promise<Woken[]>;
  /** Receives only results of `makeDue`. A method, so that the wakers of clusters and of servers fit one list. */
  wake(id: LeasedId, inMs: number): Promise<void>;
}

export interface WakeWaitingDeps {
  readonly waiters: readonly Waiters[];
  readonly log: Log;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/** Together with the detection delay of a watch, probe or pass, this stays below five seconds. */
const WITHIN_MS = 2_000;

/**
 * Wakes all rows that wait for the garden after its return, spread over time so that the garden does not get all calls at the same time. For
 * concurrent calls, this process wakes once immediately and once more after the window, for rows that started to wait in the
 * meantime. Never rejects: rows that are not woken retry by themselves.
 */
export function wakeWaiting({ waiters, log, now = () => performance.now() }: WakeWaitingDeps) {
  let againAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const wakeAll = async ({ makeDue, wake }: Waiters): Promise<void> => {
    try {
      const woken = await makeDue(WITHIN_MS);
      if (woken.length > 0) log.info('garden is back', { woken: woken.length });
      await eachOf(woken, ({ id, inMs }) => wake(id, inMs));
    } catch (error) {
      log.warn('waiting rows not woken', { error });
    }
  };
  const wakeNow = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    againAt = now() + WITHIN_MS;
    await Promise.all(waiters.map(wakeAll));
  };
  return async (): Promise<void> => {
    const waitMs = againAt - now();
    // The timer does not ask the clock again: it may fire a fraction of a millisecond early.
    if (waitMs > 0) timer ??= setTimeout(() => void wakeNow(), waitMs).unref();
    else await wakeNow();
  };
}
