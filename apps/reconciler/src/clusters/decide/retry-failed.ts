import type { Desired } from '../model.js';
import type { ShootFacts } from '../observe.js';
import { hasFailed } from './shoot-runs.js';

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
