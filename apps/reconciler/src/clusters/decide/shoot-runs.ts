import type { Shoot } from '@corral/garden';
import type { Desired, Known } from '../model.js';
import { converging, factsOf, type ShootFacts } from '../observe.js';
import { renderedPools, shootMetadata } from '../render.js';

/*
 * What the garden's runs mean for a declared generation. A run starts by setting `observedGeneration` to the Shoot's own
 * generation. That shows which run has started, and only together with `lastOperation` which one has ended.
 */

/** A read that is older than our last write. Generations never decrease. */
export function isStale(known: Known, { generation }: ShootFacts): boolean {
  return known.appliedShootGeneration !== null && generation < known.appliedShootGeneration;
}

/** A change of the specification, or a requested operation, that no run has started with. */
export function isRunDue({ generation, observedGeneration }: ShootFacts): boolean {
  return observedGeneration < generation;
}

/** The garden has given up on the current Shoot. A failure from before the last change does not count. */
export function hasFailed(facts: ShootFacts): boolean {
  return facts.lastOperation?.state === 'Failed' && !isRunDue(facts);
}

/**
 * The declared generation that the Shoot has converged to, or null while a run is in progress.
 *
 * Our write must have been observed, and the run must have succeeded and ended after that write: directly after a write the
 * Shoot still shows its previous success. Nothing may have changed since that run started, because the run could have included
 * another manager's edit that was reverted since. Whether the Shoot matches the declaration is decided by drift.
 */
export function convergedGeneration(desired: Desired, facts: ShootFacts): number | null {
  const { known } = desired;
  const { applied, lastOperation } = facts;
  if (applied === null || lastOperation === null || facts.isDeleting) return null;
  if (isStale(known, facts) || isRunDue(facts)) return null;
  if (applied.generation !== known.appliedGeneration || known.appliedShootGeneration === null) return null;
  if (lastOperation.state !== 'Succeeded' || !converging.includes(lastOperation.type)) return null;
  return endedBefore(lastOperation.updatedAt, known.appliedAt) ? null : applied.generation;
}

/** Compares times of the garden, which have a resolution of one second. */
function endedBefore(end: Date | null, write: Date | null): boolean {
  return end !== null && write !== null && end.getTime() < Math.floor(write.getTime() / 1_000) * 1_000;
}

/**
 * Whether the Shoot carries the current declaration, confirmed by a response of the garden. After a lost response another
 * apply is needed: it changes nothing if the first one succeeded, and repairs the Shoot otherwise.
 */
export function isApplied(desired: Desired, { applied, isAppliedByUs, ...facts }: ShootFacts): boolean {
  const { generation, desiredHash, known } = desired;
  if (applied === null || applied.generation !== generation || applied.hash !== desiredHash) return false;
  if (!isAppliedByUs || !hasCorralMetadata(desired, facts)) return false;
  return known.appliedGeneration === generation && known.appliedShootGeneration !== null;
}

/** Missing labels and annotations of Corral are set again. */
function hasCorralMetadata(
  desired: Desired,
  { corralMetadata, workers }: Pick<ShootFacts, 'corralMetadata' | 'workers'>,
): boolean {
  const { labels, annotations } = shootMetadata(desired);
  if (!Object.entries({ ...labels, ...annotations }).every(([key, value]) => corralMetadata[key] === value))
    return false;
  return renderedPools(desired.pools).every(({ workerName, name }) => {
    const worker = workers.find((each) => each.name === workerName);
    return worker === undefined || worker.pool === name;
  });
}

export type Learned = Pick<
  Known,
  | 'shootUid'
  | 'appliedGeneration'
  | 'appliedShootGeneration'
  | 'appliedAt'
  | 'appliedTokenVersion'
  | 'retriedGeneration'
>;

/**
 * What to record after the garden's response to a write.
 *
 * `appliedAt` and the token version change only when a run follows. A write of annotations alone is complete immediately, and
 * no later run would end after it.
 *
 * @param at time of the write by the garden's clock
 */
export function learnedFrom(
  step: 'applyShoot' | 'reconcileShoot' | 'retryShoot',
  desired: Desired,
  answered: Shoot,
  at: Date | null,
): Learned {
  const { known, connection, generation } = desired;
  const facts = factsOf(answered);
  const isFollowed = isRunDue(facts);
  return {
    shootUid: facts.uid,
    appliedGeneration: step === 'applyShoot' ? generation : known.appliedGeneration,
    appliedShootGeneration: Math.max(facts.generation, known.appliedShootGeneration ?? 0),
    appliedAt: isFollowed ? at : known.appliedAt,
    appliedTokenVersion: isFollowed ? connection.gardenTokenVersion : known.appliedTokenVersion,
    retriedGeneration: step === 'retryShoot' ? generation : known.retriedGeneration,
  };
}

export type Retry =
  | { readonly kind: 'never' }
  | { readonly kind: 'due' }
  | { readonly kind: 'later'; readonly at: Date }
  /** Another manager's operation annotation is set, and ours would overwrite it. */
  | { readonly kind: 'blocked' };

const rateLimitMsMin = 30_000;
const rateLimitMsMax = 30 * 60_000;
/** Retries for longer than a day are pointless. */
const rateLimitMsTotal = 24 * 3_600_000;

/**
 * Whether and when to retry a Shoot that the garden has given up: once per accepted generation, for a new token, and after a
 * rate limit of the provider for up to a day, with growing delays.
 */
export function retryOf(desired: Desired, facts: ShootFacts, now: Date): Retry {
  if (!hasFailed(facts) || isForOthers(desired, facts)) return { kind: 'never' };
  const wanted = wantedRetry(desired, facts, now);
  return wanted.kind === 'due' && !isSlotFree(facts) ? { kind: 'blocked' } : wanted;
}

/** An annotation that only requests a retry or a reconcile may be overwritten with ours. */
export function isSlotFree({ pendingOperation }: ShootFacts): boolean {
  return pendingOperation === null || pendingOperation === 'retry' || pendingOperation === 'reconcile';
}

/** Migrations, and deletions that Corral did not request, are not ours to retry. */
function isForOthers({ isDeleting }: Desired, facts: ShootFacts): boolean {
  return (
    ['Migrate', 'Restore', 'LiveMigrate'].includes(facts.lastOperation?.type ?? '') || facts.isDeleting !== isDeleting
  );
}

function wantedRetry(desired: Desired, facts: ShootFacts, now: Date): Retry {
  const { known, connection } = desired;
  if (known.appliedTokenVersion < connection.gardenTokenVersion) return { kind: 'due' };
  const at = rateLimitRetryAt(desired, facts);
  if (at !== null) return at <= now ? { kind: 'due' } : { kind: 'later', at };
  return known.retriedGeneration < desired.generation ? { kind: 'due' } : { kind: 'never' };
}

/** Each delay is as long as all earlier ones together, so delays double without a counter. */
function rateLimitRetryAt({ known }: Desired, { problems, lastOperation }: ShootFacts): Date | null {
  const failedAt = lastOperation?.updatedAt ?? null;
  if (failedAt === null || problems[0]?.code !== 'provider_rate_limited') return null;
  const reconciled = known.conditions.find(({ type }) => type === 'Reconciled');
  const since = reconciled?.status === 'False' ? Date.parse(reconciled.lastTransitionTime) : failedAt.getTime();
  const elapsedMs = Math.max(0, failedAt.getTime() - since);
  if (elapsedMs > rateLimitMsTotal) return null;
  return new Date(failedAt.getTime() + Math.min(rateLimitMsMax, Math.max(rateLimitMsMin, elapsedMs)));
}
