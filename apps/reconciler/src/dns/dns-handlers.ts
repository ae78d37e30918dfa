import type { JobHandlers, Queue } from '@corral/queue';
import { Stopped } from '../loop/unless-stopped.js';
import type { SettleResult } from './settle-writes.js';
import type { SyncRequest, SyncResult } from './zone-sync.js';

export interface DnsHandlerDeps {
  readonly settle: (signal: AbortSignal) => Promise<SettleResult>;
  readonly sync: (request: SyncRequest, signal: AbortSignal) => Promise<SyncResult>;
  readonly queue: Pick<Queue, 'nudge'>;
  /** After this long, what a sync skipped can be compared. */
  readonly graceMs: number;
}

/** A failure that may pass is worth another walk long before the next scheduled one. */
const RETRY_MS = 30_000;
const TURN_MS = 1_000;

/** What the jobs of the queue `dns` do. */
export function dnsHandlers({ settle, sync, queue, graceMs }: DnsHandlerDeps): JobHandlers {
  // While the upstream is slow, a pass outlasts its interval; a second beside it would only add to the load.
  let isSettling = false;
  return {
    'settle-writes': async (_payload, { signal }) => {
      if (isSettling) return;
      isSettling = true;
      try {
        await settle(signal);
      } finally {
        isSettling = false;
      }
    },
    'zone-sync': async ({ runId, reason }, { signal }) => {
      const result = await sync({ runId, reason }, signal);
      // A job that fails is given to another process, with the id by which its run is followed.
      if (result.kind === 'stopped') throw new Stopped();
      // Whoever follows a run wants one that began after the request: it comes after the one that is running.
      if (result.kind === 'already running' && runId !== undefined) {
        await queue.nudge('zone-sync', { runId, reason }, { jobId: runId, delayMs: TURN_MS });
      }
      const againMs = syncAgainMs(result, graceMs);
      if (againMs !== null) {
        await queue.nudge('zone-sync', { reason: 'schedule' }, { jobId: 'again', delayMs: againMs });
      }
    },
  };
}

/** How soon a sync is wanted again, ahead of the schedule; null when it is not. */
export function syncAgainMs(result: SyncResult, graceMs: number): number | null {
  if (result.kind === 'succeeded' && result.counts.skipped > 0) return Math.max(1_000, graceMs);
  if (result.kind === 'failed' && result.cause === 'passing') return RETRY_MS;
  return null;
}
