import { driftOf, isUnowned } from '../drift/drift.js';
import { migrationOf } from '../judge/phase.js';
import type { Desired, Observed, Step } from '../model.js';
import { factsOf, type ShootFacts } from '../observe.js';
import { isPinDue } from './resolve-version.js';
import { hasFailed, isApplied, isRunDue, isSlotFree, isStale, retryOf } from './shoot-runs.js';

const finish: Step = { do: 'finish' };

/**
 * Chooses the next step. Pure and total: the result does not depend on the order of wake-ups.
 *
 * @param seen the result of `observedFrom`
 */
export function decide(desired: Desired, seen: Observed, now: Date): Step {
  if (desired.isDeleting) return decideDeletion(desired, seen, now);
  if (isKept(desired)) return finish;
  switch (seen.kind) {
    case 'foreign':
      return finish;
    case 'absent':
      // The Shoot existed before. Creating it again would hide that its contents are lost.
      if (desired.known.shootUid !== null) return finish;
      return isOnHold(desired) ? finish : (preparation(desired, null) ?? { do: 'applyShoot' });
    case 'present':
      return decideForShoot(desired, factsOf(seen.shoot), now);
  }
}

/** After a restore, a declaration older than its Shoot is not applied until the team declares again or an operator releases it. */
export const isKept = ({ generation, known }: Desired): boolean => known.keptGeneration === generation;

function decideForShoot(desired: Desired, facts: ShootFacts, now: Date): Step {
  if (isStale(desired.known, facts)) return finish;
  if (facts.isDeleting || migrationOf(facts) !== null) return whileFrozen(desired);
  if (isOnHold(desired)) return finish;
  const prepared = preparation(desired, facts.kubernetesVersion);
  if (prepared !== null) return prepared;
  // Fields that another manager owns stay as they are until the team's next declaration.
  if (!isApplied(desired, facts) || driftOf(desired, facts).some(isUnowned)) return { do: 'applyShoot' };
  if (retryOf(desired, facts, now).kind === 'due') return { do: 'retryShoot' };
  return isTokenRolloutDue(desired, facts) ? { do: 'reconcileShoot' } : finish;
}

function decideDeletion(desired: Desired, seen: Observed, now: Date): Step {
  switch (seen.kind) {
    case 'foreign':
      // The name belongs to a foreign Shoot, so ours is gone or never existed.
      return { do: 'forget' };
    case 'absent': {
      const certainAt = absenceIsCertainAt(desired);
      return certainAt !== null && certainAt <= now ? { do: 'forget' } : finish;
    }
    case 'present': {
      const facts = factsOf(seen.shoot);
      if (isStale(desired.known, facts)) return finish;
      if (migrationOf(facts) !== null) return whileFrozen(desired);
      // The provider cannot delete without a valid token, so a newer one is written first. A bad one blocks nothing.
      if (isTokenDue(desired)) return { do: 'applyCredentials' };
      if (!facts.isDeleting) return { do: 'deleteShoot', uid: facts.uid };
      return retryOf(desired, facts, now).kind === 'due' ? { do: 'retryShoot' } : finish;
    }
  }
}

/**
 * The garden refuses every change of a Shoot that migrates to another seed or is being deleted. The token is stored beside
 * the Shoot, and may be exactly what the migration or deletion lacks.
 */
function whileFrozen(desired: Desired): Step {
  return isTokenDue(desired) ? { do: 'applyCredentials' } : finish;
}

/** Prerequisites of an apply, in this order. Null when all are met. */
function preparation(desired: Desired, running: string | null): Step | null {
  if (desired.namespace === null) return { do: 'ensureProject' };
  if (isTokenDue(desired)) return { do: 'applyCredentials' };
  if (isPinDue(desired.spec.kubernetesVersion, desired.pinnedVersion, running)) return { do: 'pinVersion' };
  return null;
}

/** Running components take up a token with their next run only. A run that is due or in progress is awaited. */
function isTokenRolloutDue({ known, connection }: Desired, facts: ShootFacts): boolean {
  if (known.appliedTokenVersion >= connection.gardenTokenVersion) return false;
  const isAtRest = facts.lastOperation?.state === 'Succeeded' || facts.lastOperation?.state === 'Error';
  return isAtRest && !hasFailed(facts) && !isRunDue(facts) && isSlotFree(facts);
}

/**
 * How long an apply with a lost response may still create a Shoot, in milliseconds. API servers end a request after 60 s at
 * the latest (kube-apiserver, `--request-timeout`).
 */
export const lateCreationMs = 70_000;

/** The condition whose transition time is the first read that found no Shoot. */
export const absenceConditionType = 'AbsenceConfirmed';

/**
 * The time when an absent Shoot that was never observed can no longer appear. Null until the first such read is recorded.
 *
 * Only used by deletion: a Shoot that appeared after the row is gone would have no owner, and would cost money.
 */
export function absenceIsCertainAt(desired: Desired): Date | null {
  const { shootUid, conditions } = desired.known;
  if (shootUid !== null) return new Date(0);
  const waiting = conditions.find(({ type }) => type === absenceConditionType);
  if (waiting !== undefined) return new Date(Date.parse(waiting.lastTransitionTime) + lateCreationMs);
  return mayHaveBeenApplied(desired) ? null : new Date(0);
}

/** The prerequisites of an apply. A refused apply proves nothing: the lost response may belong to an earlier one. */
function mayHaveBeenApplied({ namespace, pinnedVersion, connection }: Desired): boolean {
  return namespace !== null && pinnedVersion !== null && connection.gardenTokenVersion > 0;
}

/**
 * With a token that the provider rejects, a run would fail and leave a working cluster `Failed`, so changes wait. They also
 * wait until a replaced token is verified: a token of another project would orphan all resources of the cluster.
 */
export function isOnHold({ connection }: Desired): boolean {
  if (connection.phase === 'Rejected') return true;
  return connection.phase !== 'Ready' && connection.gardenTokenVersion > 0 && hasNewToken(connection);
}

/** The first token is written even if unverified: nothing depends on it yet. */
function isTokenDue({ connection }: Desired): boolean {
  const { phase, gardenTokenVersion } = connection;
  return hasNewToken(connection) && (phase === 'Ready' || (phase === 'Unverified' && gardenTokenVersion === 0));
}

function hasNewToken({ tokenVersion, gardenTokenVersion }: Desired['connection']): boolean {
  return gardenTokenVersion < tokenVersion;
}
