import type { ClusterId, ServerId } from '@corral/contracts';
import { type Queue, QueueUnavailable } from '@corral/queue';
import type { Log } from '@corral/service';
import type { Due, LeaseAnswer, LeasedId, LeaseStore } from './lease.js';

/**
 * The jobs of rows that are due, which any process takes. A row has at most two: one for now, and one for the due time that its last
 * pass has set. The row itself says what is due, so one job too many costs a statement, and one that is lost is found by the sweep.
 */
export interface RowJobs<Id extends LeasedId> {
  /**
   * @param inMs milliseconds until the row is due
   * @returns whether the row had no such job
   * @throws QueueUnavailable
   */
  send(id: Id, inMs?: number): Promise<boolean>;
  /** Sends the jobs of rows that are due now, until the signal aborts. Never rejects. */
  wake(ids: readonly Id[], signal?: AbortSignal): Promise<void>;
}

/** Due times are the database's and delays are not, so a pass slightly too early would be wasted. */
const LATE_MS = 20;

type Send<Id> = (id: Id, options: NonNullable<Parameters<Queue['send']>[2]>) => Promise<boolean>;

function rowJobs<Id extends LeasedId>(sendJob: Send<Id>, log: Log): RowJobs<Id> {
  const send = (id: Id, inMs = 0) =>
    // The job for later has an id of its own, so that it cannot replace one for now.
    inMs > 0 ? sendJob(id, { jobId: `${id}-later`, delayMs: Math.ceil(inMs) + LATE_MS }) : sendJob(id, { jobId: id });
  return {
    send,
    async wake(ids, signal) {
      try {
        for (const id of ids) {
          if (signal?.aborted) return;
          await send(id);
        }
      } catch (error) {
        log.warn('wake-ups not sent', { rows: ids.length, error });
      }
    },
  };
}

export const clusterJobs = (queue: Queue, log: Log): RowJobs<ClusterId> =>
  rowJobs((clusterId, options) => queue.send('reconcile-cluster', { clusterId }, options), log);

export const serverJobs = (queue: Queue, log: Log): RowJobs<ServerId> =>
  rowJobs((serverId, options) => queue.send('reconcile-server', { serverId }, options), log);

/** How a pass over a row ended. `inMs`: milliseconds until the next pass, or null for none before the next event. */
export type PassOutcome =
  | Exclude<LeaseAnswer, { kind: 'taken' }>
  | { readonly kind: 'finished'; readonly inMs: number | null }
  /** The process is shutting down. The lease was released. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'forgotten' };

/** Sends the job of the next pass, if this one knows when it is. Never rejects: the sweep finds the row. */
export async function planNext<Id extends LeasedId>(
  { send }: RowJobs<Id>,
  id: Id,
  end: PassOutcome | { readonly kind: 'failed'; readonly inMs: number | null },
  log: Log,
): Promise<void> {
  // Another process makes the next pass after a stop: this one takes no more jobs.
  const inMs = 'inMs' in end ? end.inMs : end.kind === 'stopped' ? 0 : null;
  if (inMs === null) return;
  await send(id, inMs).catch((error: unknown) => log.warn('next pass not planned', { id, error }));
}

/** Rows of one kind that the sweep looks for. */
interface SweptRows<Id extends LeasedId = LeasedId> {
  readonly leases: LeaseStore<Id>;
  readonly jobs: RowJobs<Id>;
  /** Called with the number of rows that had no job. */
  readonly onFound?: (rows: number) => void;
}

const BATCH = 500;
/** Rows that became due more recently still have a job on the way. */
const DUE_FOR_MS = 1_000;

/**
 * Sends the jobs of all rows that are due and have none: they were lost with the queue or a process, or never sent.
 *
 * @returns their number. When the queue is unavailable, the next sweep finds the rest
 */
export async function sweepDue<Id extends LeasedId>(
  { leases, jobs, onFound }: SweptRows<Id>,
  log: Log,
  signal: AbortSignal,
): Promise<number> {
  let found = 0;
  try {
    for (let after: Due<Id> | null = null; !signal.aborted; ) {
      const batch: Due<Id>[] = await leases.findDue({ limit: BATCH, forMs: DUE_FOR_MS }, after);
      for (const { id } of batch) {
        if (signal.aborted) break;
        if (await jobs.send(id)) found += 1;
      }
      if (batch.length < BATCH) break;
      after = batch.at(-1) ?? null;
    }
  } catch (error) {
    if (!(error instanceof QueueUnavailable)) throw error;
    log.warn('sweep cut short', { found, error });
  }
  onFound?.(found);
  return found;
}
