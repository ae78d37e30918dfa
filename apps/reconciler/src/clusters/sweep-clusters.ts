import { type Queue, QueueUnavailable } from '@corral/queue';
import type { Log } from '@corral/service';
import { eachOf } from '../loop/wake-ups.js';
import type { DueCluster, LeaseStore } from './lease-store.js';

export interface SweepDeps {
  readonly leases: Pick<LeaseStore, 'findDue'>;
  readonly queue: Pick<Queue, 'send'>;
  readonly log: Log;
}

const BATCH = 500;
/** What became due just now has a wake-up on its way. */
const DUE_FOR_MS = 1_000;

/**
 * Sends wake-ups for all clusters that are due, however many: what was lost with the queue, with a process that died, or
 * with a nudge that was never sent, goes on here. Those that have a wake-up waiting are not sent another one.
 *
 * @returns how many are due. When the queue is away, those until then: the next sweep finds the others
 */
export const sweepClusters =
  ({ leases, queue, log }: SweepDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let due = 0;
    for (let after: DueCluster | null = null; !signal.aborted; ) {
      const batch: DueCluster[] = await leases.findDue({ limit: BATCH, forMs: DUE_FOR_MS }, after);
      try {
        await eachOf(batch, async ({ clusterId }) => {
          await queue.send('reconcile-cluster', { clusterId, foundBy: 'sweep' }, { jobId: clusterId });
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
