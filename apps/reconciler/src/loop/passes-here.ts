import { setMaxListeners } from 'node:events';
import type { Log } from '@corral/service';
import type { LeasedId } from './leases.js';

/** Passes that this process runs without a job, because it knows itself that they are due. */
export interface PassesHere<Id extends LeasedId> {
  /** Runs a pass. During one over the same row, another follows. False when there is no place, before `start` and after `close`. */
  take(id: Id): boolean;
  /** As `take`, if a pass over the row is under way or waits. False otherwise. */
  join(id: Id): boolean;
  /**
   * To be called when a pass is about to free its row. What was asked for until now was due before that, so the pass has read it, or
   * is told that the row became due meanwhile.
   *
   * @returns to be called once the row was freed: no pass follows for what was asked for until then
   */
  freeing(id: Id): () => void;
  start(run: (id: Id, stop: AbortSignal) => Promise<void>): void;
  /** Stops the running passes and waits for them. Never rejects. */
  close(): Promise<void>;
}

export interface PassesHereOptions<Id extends LeasedId> {
  /** The number of passes that run or wait here at the same time. */
  readonly max: number;
  /** Leaves a row to a job, when this process ends or a pass failed that was joined. Never rejects. */
  readonly leave: (id: Id) => Promise<void>;
  readonly log: Log;
}

export function passesHere<Id extends LeasedId>({ max, leave, log }: PassesHereOptions<Id>): PassesHere<Id> {
  /** Those that a pass is to begin for, and which of all that were asked for this is. */
  const asked = new Map<Id, number>();
  let asks = 0;
  const underWay = new Map<Id, Promise<void>>();
  const stop = new AbortController();
  // Shared by all passes and their calls, so many listeners are not a leak.
  setMaxListeners(Number.POSITIVE_INFINITY, stop.signal);
  let run: ((id: Id, stop: AbortSignal) => Promise<void>) | null = null;

  const ask = (id: Id): void => {
    asks += 1;
    asked.set(id, asks);
  };
  const runAll = async (id: Id, work: NonNullable<typeof run>): Promise<void> => {
    try {
      while (!stop.signal.aborted && asked.delete(id)) await work(id, stop.signal);
    } catch (error) {
      // The row is due again when its lease ends, and the sweep finds it.
      log.error('pass failed', { id, error });
    }
    // Also after a failure: the jobs of those who joined it have ended.
    while (asked.delete(id)) await leave(id);
    underWay.delete(id);
  };
  return {
    take(id) {
      if (run === null || stop.signal.aborted) return false;
      const isUnderWay = underWay.has(id);
      if (!isUnderWay && underWay.size >= max) return false;
      ask(id);
      if (!isUnderWay) underWay.set(id, runAll(id, run));
      return true;
    },
    join(id) {
      if (stop.signal.aborted || !underWay.has(id)) return false;
      ask(id);
      return true;
    },
    freeing(id) {
      const known = asked.get(id);
      return () => {
        if (known !== undefined && asked.get(id) === known) asked.delete(id);
      };
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
