import { setMaxListeners } from 'node:events';
import type { Log } from '@corral/service';
import type { LeasedId } from './leases.js';

/** Passes that this process runs without a job, because it knows itself that they are due. */
export interface PassesHere<Id extends LeasedId> {
  /** Runs a pass. During one over the same row, another follows. False when there is no place, before `start` and after `close`. */
  take(id: Id): boolean;
  start(run: (id: Id, stop: AbortSignal) => Promise<void>): void;
  /** Stops the running passes and waits for them. Never rejects. */
  close(): Promise<void>;
}

/** @param max the number of passes that run or wait here at the same time */
export function passesHere<Id extends LeasedId>({ max, log }: { max: number; log: Log }): PassesHere<Id> {
  /** Those that a pass is to begin for. */
  const asked = new Set<Id>();
  const underWay = new Map<Id, Promise<void>>();
  const stop = new AbortController();
  // Shared by all passes and their calls, so many listeners are not a leak.
  setMaxListeners(Number.POSITIVE_INFINITY, stop.signal);
  let run: ((id: Id, stop: AbortSignal) => Promise<void>) | null = null;

  const runAll = async (id: Id, work: NonNullable<typeof run>): Promise<void> => {
    try {
      while (asked.delete(id) && !stop.signal.aborted) await work(id, stop.signal);
    } catch (error) {
      // The row is due again when its lease ends, and the sweep finds it.
      log.error('pass failed', { id, error });
    } finally {
      asked.delete(id);
      underWay.delete(id);
    }
  };
  return {
    take(id) {
      if (run === null || stop.signal.aborted) return false;
      const isUnderWay = underWay.has(id);
      if (!isUnderWay && underWay.size >= max) return false;
      asked.add(id);
      if (!isUnderWay) underWay.set(id, runAll(id, run));
      return true;
    },
    start(work) {
      run = work;
    },
    async close() {
      stop.abort();
      await Promise.all(underWay.values());
    },
  };
}
