import type { JobHandlers, Queue } from '@corral/queue';
import { onceMoreWhenAsked, oneAtATime } from '../loop/one-at-a-time.js';
import { Stopped } from '../loop/unless-stopped.js';
import type { ClearResult } from './clear-demos.js';
import type { ExpireResult } from './expire-demos.js';
import type { LookUpResult } from './look-up-actions.js';
import type { SettleResult } from './settle-writes.js';
import type { SyncRequest, SyncResult } from './zone-sync.js';

export type Sync = (request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>;

export interface DnsHandlerDeps {
  readonly settle: (signal: AbortSignal) => Promise<SettleResult>;
  /** Of the teams' zone, which is the one that somebody may ask for. */
  readonly sync: Sync;
  /** Of the demo zone; null where there is none. */
  readonly syncDemos: Sync | null;
  readonly expire: (signal: AbortSignal) => Promise<ExpireResult>;
  readonly clear: (signal: AbortSignal) => Promise<ClearResult>;
  readonly lookUp: () => Promise<LookUpResult>;
  readonly queue: Pick<Queue, 'nudge'>;
  /** After this long, what a sync skipped can be compared. */
  readonly graceMs: number;
}

/** A failure that may pass is worth another walk long before the next scheduled one. */
const RETRY_MS = 30_000;
const TURN_MS = 1_000;

/** What the jobs of the queue `dns` do. */
export function dnsHandlers(deps: DnsHandlerDeps): JobHandlers<'dns'> {
  const { sync, syncDemos, expire, queue, graceMs } = deps;
  const lookUp = async () => {
    const { failed } = await deps.lookUp();
    // What their writes claimed is not there: the mirror is mended at once.
    if (failed > 0) await queue.nudge('settle-writes', {}, { jobId: 'failed-actions' });
  };
  return {
    'settle-writes': onceMoreWhenAsked(deps.settle),
    'look-up-actions': oneAtATime(lookUp),
    'expire-demos': async (_payload, { signal }) => {
      const { ended } = await expire(signal);
      if (ended > 0) await queue.nudge('clear-demos', {}, { jobId: 'clear' });
    },
    'clear-demos': oneAtATime(deps.clear),
    'zone-sync': async ({ runId, reason }, { signal }) => {
      const syncs = runId === undefined && syncDemos !== null ? [sync, syncDemos] : [sync];
      const results = await allEnded(syncs.map((each) => each({ runId, reason }, signal)));
      // A job that fails is given to another process, with the id by which its run is followed.
      if (results.some((result) => result.kind === 'stopped')) throw new Stopped();
      // Whoever follows a run wants one that began after the request: it comes after the one that is running.
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

/** Waits for all of them, and only then fails with the first that failed: no work goes on behind a job that is over. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** How soon a sync is wanted again, ahead of the schedule; null when it is not. */
function syncAgainMs(result: SyncResult, graceMs: number): number | null {
  if (result.kind === 'succeeded' && result.counts.skipped > 0) return Math.max(1_000, graceMs);
  if (result.kind === 'failed' && result.cause === 'passing') return RETRY_MS;
  return null;
}
