import { type GardenClient, GardenError } from '@corral/garden';
import type { Log } from '@corral/service';
import { backoffMs, spreadMs } from '../loop/backoff.js';
import type { CleanupStore, DueCleanup } from './cleanup-store.js';

export type CleanupOutcome = 'gone' | 'waiting' | 'failed';

export interface CleanUpDeps {
  readonly store: CleanupStore;
  readonly garden: Pick<GardenClient, 'deleteCredentials'>;
  readonly onOutcome: (outcome: CleanupOutcome) => void;
  readonly log: Log;
  readonly random?: () => number;
}

const BATCH = 10;
/** Longer than the two calls of one deletion take. */
const CLAIM_MS = 60_000;
const retry = { firstMs: 10_000, maxMs: 3_600_000 };

/**
 * Removes the credentials that deleted connections left on the garden. The garden lets them go when the last Shoot that
 * uses them is gone, so they are deleted again until they are seen to be absent.
 *
 * @returns how many are gone
 */
export const cleanUpGarden =
  (deps: CleanUpDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let gone = 0;
    while (!signal.aborted) {
      const batch = await deps.store.claimDue(BATCH, CLAIM_MS);
      const outcomes = await Promise.all(batch.map((due) => cleanUpOne(deps, due, signal)));
      gone += outcomes.filter((outcome) => outcome === 'gone').length;
      // While the garden is away one batch pays for finding out; the others stay due for the next run.
      if (batch.length < BATCH || outcomes.includes('failed')) break;
    }
    return gone;
  };

async function cleanUpOne(deps: CleanUpDeps, due: DueCleanup, signal: AbortSignal): Promise<CleanupOutcome> {
  const { store, onOutcome, random = Math.random } = deps;
  const { outcome, retryAfterMs } = await deleteOne(deps, due, signal);
  onOutcome(outcome);
  if (outcome === 'gone') await store.recordGone(due);
  else await store.recordFailure(due, retryAfterMs + spreadMs(backoffMs(due.failures, retry), random()));
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
