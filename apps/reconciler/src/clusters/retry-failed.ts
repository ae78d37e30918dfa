import type { Desired } from './model.js';
import { hasFailed } from './run.js';
import type { ShootFacts } from './shoot-facts.js';

export type Retry =
  | { readonly kind: 'never' }
  | { readonly kind: 'due' }
  | { readonly kind: 'later'; readonly at: Date }
  /** Somebody else's order waits in the one slot, and writing ours would lose it. */
  | { readonly kind: 'blocked' };

const rateLimitMsMin = 30_000;
const rateLimitMsMax = 30 * 60_000;
/** Whoever is refused for a whole day is not helped by waiting. */
const rateLimitMsTotal = 24 * 3_600_000;

/**
 * Whether and when a Shoot that the garden has given up is told to try again: once for each accepted generation, for a
 * new token, and as often as it takes when the provider only wanted us to be slower, for a day, with growing waits.
 */
export function retryOf(desired: Desired, facts: ShootFacts, now: Date): Retry {
  if (!hasFailed(facts) || isForOthers(desired, facts)) return { kind: 'never' };
  const wanted = wantedRetry(desired, facts, now);
  return wanted.kind === 'due' && !isSlotFree(facts) ? { kind: 'blocked' } : wanted;
}

/** Orders such as ours may be written over: to try again is all that they say. */
export function isSlotFree({ pendingOperation }: ShootFacts): boolean {
  return pendingOperation === null || pendingOperation === 'retry' || pendingOperation === 'reconcile';
}

/** Moves between seeds, and deletions that nobody asked us for, are not ours to repeat. */
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

/** Each wait is as long as all before it, so the waits double without being counted. */
function rateLimitRetryAt({ known }: Desired, { problems, lastOperation }: ShootFacts): Date | null {
  const failedAt = lastOperation?.updatedAt ?? null;
  if (failedAt === null || problems[0]?.code !== 'provider_rate_limited') return null;
  const reconciled = known.conditions.find(({ type }) => type === 'Reconciled');
  const since = reconciled?.status === 'False' ? Date.parse(reconciled.lastTransitionTime) : failedAt.getTime();
  const elapsedMs = Math.max(0, failedAt.getTime() - since);
  if (elapsedMs > rateLimitMsTotal) return null;
  return new Date(failedAt.getTime() + Math.min(rateLimitMsMax, Math.max(rateLimitMsMin, elapsedMs)));
}
