import { setTimeout as pause } from 'node:timers/promises';
import type { Prisma } from '@corral/database';
import { OperatorError } from './operator-error.js';

/** One sync run over the zone. */
export interface SyncRun {
  readonly zoneName: string;
  readonly state: 'running' | 'succeeded' | 'failed';
  readonly rrsetsSeen: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
  readonly failure: string | null;
}

export interface RunSource {
  findRun(): Promise<SyncRun | null>;
  /** Whether any run over the zone is in progress. A requested run waits for its end. */
  isAnyRunning(): Promise<boolean>;
}

export interface FollowOptions {
  /** How long a reconciler may take to begin while no other run is in progress, in ms. */
  readonly takenWithinMs: number;
  readonly onWait: (what: 'begun' | 'waiting for another') => void;
  /** Called periodically during the run. */
  readonly onProgress: (run: SyncRun) => void;
}

const POLL_MS = 250;
const PROGRESS_MS = 5_000;

/**
 * Waits until a requested run has ended.
 *
 * @throws OperatorError when no reconciler takes it, or it fails
 */
export async function followRun(source: RunSource, options: FollowOptions): Promise<SyncRun> {
  let idleSince = performance.now();
  let reportedAt = performance.now();
  let announced: string | null = null;
  const report = (what: 'begun' | 'waiting for another'): void => {
    if (announced !== what) options.onWait(what);
    announced = what;
  };
  for (;;) {
    const run = await source.findRun();
    if (run?.state === 'succeeded') return run;
    if (run?.state === 'failed') {
      const why = (run.failure ?? '').replace(/\.?$/, '.');
      throw new OperatorError(`The sync failed. ${why} The next sync continues where this one stopped.`);
    }
    if (run !== null) {
      report('begun');
      if (performance.now() - reportedAt >= PROGRESS_MS) {
        options.onProgress(run);
        reportedAt = performance.now();
      }
    } else if (await source.isAnyRunning()) {
      report('waiting for another');
      idleSince = performance.now();
    } else if (performance.now() - idleSince >= options.takenWithinMs) {
      const seconds = Math.round(options.takenWithinMs / 1_000);
      throw new OperatorError(
        `No reconciler took the job within ${seconds} s. Check that a reconciler runs with the same DATABASE_URL, REDIS_URL and DNS_ZONE_NAME.`,
      );
    }
    await pause(POLL_MS);
  }
}

/** How long a run of a dead process counts as running. A page waits at most ten minutes for budget. */
const RUNNING_MS_MAX = 900_000;

/** A run that is requested, or requested again. */
export interface RequestedRun {
  readonly runId: string;
  /** Fence of the run when it was requested, null for a new run. A failure at this fence is an earlier one. */
  readonly fence: number | null;
}

/**
 * Reads the state of the requested run.
 *
 * @throws OperatorError when the run belongs to another zone than the reconcilers'
 */
export const runSource = (prisma: Prisma, zoneName: string, { runId, fence }: RequestedRun): RunSource => ({
  async findRun() {
    const run = await prisma.dnsSyncRun.findUnique({ where: { id: runId } });
    if (run === null || (run.state === 'failed' && run.fence === fence)) return null;
    if (run.zoneName === zoneName) return run;
    throw new OperatorError(
      `The reconcilers serve the zone ${run.zoneName}, not ${zoneName}. Check DNS_ZONE_NAME of this command and of the reconcilers.`,
    );
  },
  async isAnyRunning() {
    const since = new Date(Date.now() - RUNNING_MS_MAX);
    const where = { zoneName, state: 'running', progressedAt: { gt: since } } as const;
    return (await prisma.dnsSyncRun.count({ where })) > 0;
  },
});

/**
 * The running or interrupted import, so that no second one is started; null once the zone has been imported, or when no
 * import was started.
 */
export async function findOpenImport(prisma: Prisma, zoneName: string): Promise<RequestedRun | null> {
  const newest = await prisma.dnsSyncRun.findMany({ where: { zoneName }, orderBy: { startedAt: 'desc' }, take: 1 });
  const imported = await prisma.dnsSyncRun.count({ where: { zoneName, state: 'succeeded' }, take: 1 });
  const [run] = newest;
  return run === undefined || imported > 0 ? null : { runId: run.id, fence: run.fence };
}
