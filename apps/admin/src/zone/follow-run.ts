import { setTimeout as pause } from 'node:timers/promises';
import type { Prisma } from '@corral/database';
import { OperatorError } from '../operator-error.js';

/** One walk over the zone, as its row tells. */
export interface SyncRun {
  readonly state: 'running' | 'succeeded' | 'failed';
  readonly rrsetsSeen: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
  readonly failure: string | null;
}

export interface RunSource {
  findRun(runId: string): Promise<SyncRun | null>;
  /** Whether any walk over the zone is under way: a requested one waits for its end. */
  isAnyRunning(): Promise<boolean>;
}

export interface FollowOptions {
  /** How long a reconciler may take to begin, while no other walk is under way. */
  readonly takenWithinMs: number;
  readonly onWait: (what: 'begun' | 'waiting for another') => void;
}

const POLL_MS = 250;

/**
 * Waits until a requested walk has ended.
 *
 * @throws OperatorError when no reconciler takes it, or it fails
 */
export async function followRun(source: RunSource, runId: string, options: FollowOptions): Promise<SyncRun> {
  let idleSince = performance.now();
  let told: string | null = null;
  const tell = (what: 'begun' | 'waiting for another'): void => {
    if (told !== what) options.onWait(what);
    told = what;
  };
  for (;;) {
    const run = await source.findRun(runId);
    if (run?.state === 'succeeded') return run;
    if (run?.state === 'failed') throw new OperatorError(`The sync failed. ${run.failure ?? ''}`.trim());
    if (run !== null) tell('begun');
    else if (await source.isAnyRunning()) {
      tell('waiting for another');
      idleSince = performance.now();
    } else if (performance.now() - idleSince >= options.takenWithinMs) {
      const seconds = Math.round(options.takenWithinMs / 1_000);
      throw new OperatorError(
        `No reconciler took the job within ${seconds} s. Check that one runs, with the same DATABASE_URL, REDIS_URL and DNS_ZONE_NAME.`,
      );
    }
    await pause(POLL_MS);
  }
}

/** A row that its process left behind counts as running for so long; the next walk marks it. */
const RUNNING_MS_MAX = 600_000;

export const runSource = (prisma: Prisma, zoneName: string): RunSource => ({
  findRun: (runId) => prisma.dnsSyncRun.findUnique({ where: { id: runId } }),
  async isAnyRunning() {
    const since = new Date(Date.now() - RUNNING_MS_MAX);
    return (await prisma.dnsSyncRun.count({ where: { zoneName, state: 'running', startedAt: { gt: since } } })) > 0;
  },
});
