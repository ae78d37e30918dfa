import { absenceIsCertainAt } from './absence.js';
import { driftOf, isLost } from './drift.js';
import { isOnHold, isTokenDue } from './holds.js';
import { migrationOf } from './migration.js';
import type { Desired, Observed, Step } from './model.js';
import { isPinDue } from './resolve-version.js';
import { isSlotFree, retryOf } from './retry-failed.js';
import { hasFailed, isApplied, isRunDue, isStale } from './run.js';
import { factsOf, type ShootFacts } from './shoot-facts.js';

const settle: Step = { do: 'settle' };

/**
 * Chooses the one next step. Pure and total: the same inputs give the same step in any order of wake-ups.
 *
 * @param seen as `observedFrom` says it
 */
export function decide(desired: Desired, seen: Observed, now: Date): Step {
  if (desired.isDeleting) return decideDeletion(desired, seen, now);
  switch (seen.kind) {
    case 'foreign':
      return settle;
    case 'absent':
      // Once it was there, making it again would hide that all in it is lost.
      if (desired.known.shootUid !== null) return settle;
      return isOnHold(desired) ? settle : (preparation(desired, null) ?? { do: 'applyShoot' });
    case 'present':
      return decideForShoot(desired, factsOf(seen.shoot), now);
  }
}

function decideForShoot(desired: Desired, facts: ShootFacts, now: Date): Step {
  if (isStale(desired.known, facts)) return settle;
  if (facts.isDeleting || migrationOf(facts) !== null) return whileFrozen(desired);
  if (isOnHold(desired)) return settle;
  const prepared = preparation(desired, facts.kubernetesVersion);
  if (prepared !== null) return prepared;
  // What somebody else holds stays theirs until the team declares something anew.
  if (!isApplied(desired, facts) || driftOf(desired, facts).some(isLost)) return { do: 'applyShoot' };
  if (retryOf(desired, facts, now).kind === 'due') return { do: 'retryShoot' };
  return isTokenRolloutDue(desired, facts) ? { do: 'reconcileShoot' } : settle;
}

function decideDeletion(desired: Desired, seen: Observed, now: Date): Step {
  switch (seen.kind) {
    case 'foreign':
      // The name is another's, so ours is gone or never was.
      return { do: 'forget' };
    case 'absent': {
      const certainAt = absenceIsCertainAt(desired);
      return certainAt !== null && certainAt <= now ? { do: 'forget' } : settle;
    }
    case 'present': {
      const facts = factsOf(seen.shoot);
      if (isStale(desired.known, facts)) return settle;
      if (migrationOf(facts) !== null) return whileFrozen(desired);
      // The provider lets nobody delete without a token, so a better one comes first; a bad one stops nothing.
      if (isTokenDue(desired)) return { do: 'applyCredentials' };
      if (!facts.isDeleting) return { do: 'deleteShoot', uid: facts.uid };
      return retryOf(desired, facts, now).kind === 'due' ? { do: 'retryShoot' } : settle;
    }
  }
}

/**
 * The garden refuses every change of a Shoot that moves to another seed, or that somebody is deleting. The token lives
 * beside the Shoot, and may be the very thing that is wanting.
 */
function whileFrozen(desired: Desired): Step {
  return isTokenDue(desired) ? { do: 'applyCredentials' } : settle;
}

/** What has to be there before a Shoot can be applied, in this order; null when all of it is. */
function preparation(desired: Desired, running: string | null): Step | null {
  if (desired.namespace === null) return { do: 'ensureProject' };
  if (isTokenDue(desired)) return { do: 'applyCredentials' };
  if (isPinDue(desired.spec.kubernetesVersion, desired.pinnedVersion, running)) return { do: 'pinVersion' };
  return null;
}

/** Running components take up a token with the next run only. A run that is due or under way is waited for. */
function isTokenRolloutDue({ known, connection }: Desired, facts: ShootFacts): boolean {
  if (known.appliedTokenVersion >= connection.gardenTokenVersion) return false;
  const isAtRest = facts.lastOperation?.state === 'Succeeded' || facts.lastOperation?.state === 'Error';
  return isAtRest && !hasFailed(facts) && !isRunDue(facts) && isSlotFree(facts);
}
