import { QueueUnavailable } from '@corral/queue';
import type { Log } from '@corral/service';
import type { Due, LeaseStore } from './lease-store.js';
import { eachOf } from './wake-ups.js';

export interface SweepDeps {
  readonly leases: Pick<LeaseStore, 'findDue'>;
  /** Sends the wake-up of a row. */
  readonly send: (id: string) => Promise<void>;
  readonly log: Log;
}

const BATCH = 500;
/** What became due just now has a wake-up on its way. */
const DUE_FOR_MS = 1_000;

/**
 * Sends wake-ups for all rows that are due, however many: what was lost with the queue, with a process that died, or
 * with a nudge that was never sent, goes on here. Those that have a wake-up waiting are not sent another one.
 *
 * @returns how many are due. When the queue is away, those until then: the next sweep finds the others
 */
export const sweepDue =
  ({ leases, send, log }: SweepDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let due = 0;
    for (let after: Due | null = null; !signal.aborted; ) {
      const batch: Due[] = await leases.findDue({ limit: BATCH, forMs: DUE_FOR_MS }, after);
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
