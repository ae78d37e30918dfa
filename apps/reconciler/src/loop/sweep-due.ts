import { QueueUnavailable } from '@corral/queue';
import type { Log } from '@corral/service';
import type { Due, LeasedId, LeaseStore } from './leases.js';
import { eachOf } from './wake-ups.js';

export interface SweepDeps<Id extends LeasedId> {
  readonly leases: Pick<LeaseStore<Id>, 'findDue'>;
  /** Sends the wake-up of a row. */
  readonly send: (id: Id) => Promise<void>;
  readonly log: Log;
}

const BATCH = 500;
/** Rows that became due more recently still have a wake-up on the way. */
const DUE_FOR_MS = 1_000;

/**
 * Sends wake-ups for all due rows. This recovers wake-ups that were lost with the queue or a process, or that were never sent.
 * Rows with a waiting wake-up get no second one.
 *
 * @returns the number of rows sent. When the queue is unavailable, the next sweep finds the rest
 */
export const sweepDue =
  <Id extends LeasedId>({ leases, send, log }: SweepDeps<Id>) =>
  async (signal: AbortSignal): Promise<number> => {
    let due = 0;
    for (let after: Due<Id> | null = null; !signal.aborted; ) {
      const batch: Due<Id>[] = await leases.findDue({ limit: BATCH, forMs: DUE_FOR_MS }, after);
      try {
        await eachOf(batch, async ({ id }) => {
          await send(id);
          due += 1;
        });
      } catch (error) {
        if (!(error instanceof QueueUnavailable)) throw error;
        log.warn('sweep cut short', { due, error });
        return due;
      }
      if (batch.length < BATCH) break;
      after = batch.at(-1) ?? null;
    }
    return due;
  };
