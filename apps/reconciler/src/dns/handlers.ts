import type { JobHandlers, Queue } from '@corral/queue';
import { type HoldStore, unlessHeld } from '../hold/hold-store.js';
import { Stopped, withSignal } from '../loop/run-bounds.js';
import type { ClearResult, ExpireResult } from './end-demos.js';
import type { LookUpResult } from './look-up-actions.js';
import type { SettleResult } from './settle-writes.js';
import type { SyncRequest, SyncResult } from './zone-sync.js';

export type Sync = (request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>;

export interface DnsHandlerDeps {
  readonly settle: (signal: AbortSignal) => Promise<SettleResult>;
  /** For the zone of the teams, the only one that can be requested. */
  readonly sync: Sync;
  /** For the demo zone. Null when there is none. */
  readonly syncDemos: Sync | null;
  readonly expire: (signal: AbortSignal) => Promise<ExpireResult>;
  readonly clear: (signal: AbortSignal) => Promise<ClearResult>;
  readonly lookUp: () => Promise<LookUpResult>;
  readonly holds: Pick<HoldStore, 'find'>;
  readonly queue: Pick<Queue, 'nudge'>;
  /** Milliseconds until sets that a sync skipped can be compared. */
  readonly graceMs: number;
}

/** Delay of the retry after a transient failure, well before the next scheduled run. */
const RETRY_MS = 30_000;
const TURN_MS = 1_000;

/** Handlers of the jobs in the queue `dns`. */
export function dnsHandlers(deps: DnsHandlerDeps): JobHandlers<'dns'> {
  const { sync, syncDemos, expire, holds, queue, graceMs } = deps;
  const lookUp = async () => {
    const { failed } = await deps.lookUp();
    // A failed action means that the mirror is wrong, so it is corrected immediately.
    if (failed > 0) await queue.nudge('settle-writes', {}, { jobId: 'failed-actions' });
  };
  return {
    'settle-writes': withSignal(deps.settle),
    'look-up-actions': lookUp,
    'expire-demos': async (_payload, { signal }) => {
      // A restored demo may have been extended since its backup.
      if ((await holds.find()) !== null) return;
      const { ended } = await expire(signal);
      if (ended > 0) await queue.nudge('clear-demos', {}, { jobId: 'clear' });
    },
    'clear-demos': withSignal(unlessHeld(holds, deps.clear)),
    'zone-sync': async ({ runId, reason = 'schedule' }, { signal }) => {
      const syncs = runId === undefined && syncDemos !== null ? [sync, syncDemos] : [sync];
      const results = await allEnded(syncs.map((each) => each({ runId, reason }, signal)));
      // A failed job is retried by another process under the same run id.
      if (results.some((result) => result.kind === 'stopped')) throw new Stopped();
      // A requested run must start after the request, so it is queued behind the one in progress.
      if (results[0]?.kind === 'already running' && runId !== undefined) {
        await queue.nudge('zone-sync', { runId, reason }, { jobId: runId, delayMs: TURN_MS });
      }
      const againMs = results.map((result) => syncAgainMs(result, graceMs)).filter((ms) => ms !== null);
      if (againMs.length > 0) {
        await queue.nudge('zone-sync', { reason: 'schedule' }, { jobId: 'again', delayMs: Math.min(...againMs) });
      }
    },
  };
}

/** Waits for all of them before it fails with the first failure, so that no work outlives its job. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Milliseconds until the next sync ahead of the schedule, or null when none is needed. */
function syncAgainMs(result: SyncResult, graceMs: number): number | null {
  if (result.kind === 'succeeded' && result.counts.skipped > 0) return Math.max(1_000, graceMs);
  if (result.kind === 'failed' && result.cause === 'passing') return RETRY_MS;
  return null;
}
