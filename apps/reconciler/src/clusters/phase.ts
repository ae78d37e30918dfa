import type { ClusterPhase } from '@corral/contracts';
import type { Drift } from './drift.js';
import { migrationOf } from './migration.js';
import type { Desired } from './model.js';
import { isRunDue } from './run.js';
import type { ShootFacts } from './shoot-facts.js';

export interface Standing {
  /** The Shoot has, or had before a run of the garden's own, what is declared. */
  readonly isConverged: boolean;
  /** What somebody else has changed. */
  readonly drift: readonly Drift[];
  /** The garden has given up, and nobody will tell it to go on. */
  readonly hasGivenUp: boolean;
  /** Nothing is tried before the connection is mended. */
  readonly isOnHold: boolean;
  readonly isImpaired: boolean;
  /** The provider refuses the token, to us or to the garden. */
  readonly lacksToken: boolean;
}

/** One word for a cluster whose Shoot is there. Derived: nothing is decided by it. */
export function phaseOf(desired: Desired, facts: ShootFacts, standing: Standing): ClusterPhase {
  const { lastOperation, hibernation } = facts;
  if (desired.isDeleting) return standing.hasGivenUp ? 'Failed' : 'Deleting';
  if (facts.isDeleting) return 'Deleting';
  const migration = migrationOf(facts);
  if (migration === 'Migrating' || migration === 'Restoring') return 'Updating';
  if (lastOperation === null || (lastOperation.type === 'Create' && lastOperation.state === 'Pending'))
    return 'Pending';
  if (isKeptFromWork(desired, facts, standing))
    return hibernation.actual && hibernation.wished ? 'Hibernated' : 'Degraded';
  if (standing.hasGivenUp) return 'Failed';
  if (lastOperation.type === 'Create' && lastOperation.state !== 'Succeeded') return 'Provisioning';
  if (isChanging(desired, facts, standing)) {
    if (hibernation.wished === hibernation.actual) return 'Updating';
    return hibernation.wished ? 'Hibernating' : 'Resuming';
  }
  if (hibernation.actual) return 'Hibernated';
  // Whoever waits for `Ready` after a change waits for the change, also where nothing can be done about it now.
  return standing.isImpaired || !standing.isConverged ? 'Degraded' : 'Ready';
}

/**
 * A cluster that has been there runs on without a token: nothing of it has failed but what the garden would have done to
 * it now.
 */
function isKeptFromWork({ known }: Desired, { lastOperation }: ShootFacts, standing: Standing): boolean {
  if (!standing.lacksToken || known.observedGeneration === 0) return false;
  return standing.hasGivenUp || lastOperation?.state === 'Error';
}

/**
 * The garden reconciles every cluster again and again; that is no change. It is one when something was declared, or
 * when somebody else altered the Shoot, and then until that run has ended.
 */
function isChanging(desired: Desired, facts: ShootFacts, { isConverged, isOnHold, drift }: Standing): boolean {
  if (facts.hibernation.wished !== facts.hibernation.actual || isRunDue(facts)) return true;
  // What others have changed stays as it is until the team declares something.
  if (!isConverged && desired.operation === null && drift.length > 0) return false;
  if (!isConverged) return !isOnHold;
  const wasChanging = ['Updating', 'Hibernating', 'Resuming'].includes(desired.known.phase);
  return wasChanging && facts.lastOperation?.state !== 'Succeeded';
}
