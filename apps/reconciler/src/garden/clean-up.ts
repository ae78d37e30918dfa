import type { Prisma } from '@corral/database';
import { type GardenClient, GardenError } from '@corral/garden';
import { backoffMs, type Log, spreadMs } from '@corral/service';
import { claimRows, retry, timeIn } from '../loop/claim.js';

export type CleanupOutcome = 'gone' | 'waiting' | 'failed';

export interface CleanUpDeps {
  readonly store: CleanupStore;
  readonly garden: GardenClient;
  readonly onOutcome: (outcome: CleanupOutcome) => void;
  readonly log: Log;
}

const BATCH = 10;
/** Longer than the two calls of one deletion. */
const CLAIM_MS = 60_000;

/**
 * Deletes the credentials that deleted connections left in the garden. The garden releases them when the last Shoot that
 * uses them is gone, so the deletion is repeated until they are absent.
 *
 * @returns the number of deleted credentials
 */
export const cleanUpGarden =
  (deps: CleanUpDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let gone = 0;
    while (!signal.aborted) {
      const batch = await deps.store.claimDue(BATCH, CLAIM_MS);
      const outcomes = await Promise.all(batch.map((due) => cleanUpOne(deps, due, signal)));
      gone += outcomes.filter((outcome) => outcome === 'gone').length;
      // While the garden is unavailable only one batch is tried. The others stay due for the next run.
      if (batch.length < BATCH || outcomes.includes('failed')) break;
    }
    return gone;
  };

async function cleanUpOne(deps: CleanUpDeps, due: DueCleanup, signal: AbortSignal): Promise<CleanupOutcome> {
  const { store, onOutcome } = deps;
  const { outcome, retryAfterMs } = await deleteOne(deps, due, signal);
  onOutcome(outcome);
  if (outcome === 'gone') await store.recordGone(due);
  else await store.recordFailure(due, retryAfterMs + spreadMs(backoffMs(due.failures, retry), Math.random()));
  return outcome;
}

async function deleteOne(
  { garden, log }: CleanUpDeps,
  { id, namespace, name, failures }: DueCleanup,
  signal: AbortSignal,
): Promise<{ outcome: CleanupOutcome; retryAfterMs: number }> {
  try {
    const answer = await garden.deleteCredentials({ namespace, name }, signal);
    return { outcome: answer === 'absent' ? 'gone' : 'waiting', retryAfterMs: 0 };
  } catch (error) {
    if (!(error instanceof GardenError)) throw error;
    log.warn('credentials left on the garden', { cleanupId: id, namespace, name, failures: failures + 1, error });
    return { outcome: 'failed', retryAfterMs: (error.retryAfterSeconds ?? 0) * 1_000 };
  }
}

/** Unused credentials in the garden. */
interface DueCleanup {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  /** Number of attempts that failed or found the credentials still present. */
  readonly failures: number;
}

export const cleanupStore = (prisma: Prisma) => ({
  /** Claims due clean-ups, oldest first. They are due again after `retryMs` unless an outcome is recorded. */
  async claimDue(limit: number, retryMs: number): Promise<DueCleanup[]> {
    const claimed = await claimRows(prisma, { table: 'garden_cleanup', due: 'due_at' }, { limit, retryMs });
    if (claimed.size === 0) return [];
    return prisma.gardenCleanup.findMany({ where: { id: { in: [...claimed.keys()] } } });
  },

  /** Deletes the row of credentials that are gone. */
  async recordGone({ id }: DueCleanup): Promise<void> {
    await prisma.gardenCleanup.deleteMany({ where: { id } });
  },

  async recordFailure({ id }: DueCleanup, againMs: number): Promise<void> {
    const dueAt = await timeIn(prisma, againMs);
    await prisma.gardenCleanup.updateMany({ where: { id }, data: { failures: { increment: 1 }, dueAt } });
  },
});
type CleanupStore = ReturnType<typeof cleanupStore>;
