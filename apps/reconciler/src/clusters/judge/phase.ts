import type { ClusterPhase, MigrationPhase } from '@corral/contracts';
import { isRunDue } from '../decide/shoot-runs.js';
import type { Drift } from '../drift/drift.js';
import type { Desired, OpenOperation } from '../model.js';
import type { ShootFacts } from '../observe.js';

export interface ShootFindings {
  /** The Shoot matches the declaration, or did before a regular run of the garden. */
  readonly isConverged: boolean;
  /** What other managers changed. */
  readonly drift: readonly Drift[];
  /** The garden has given up, and no retry will follow. */
  readonly hasGivenUp: boolean;
  /** Changes wait until the connection works. */
  readonly isOnHold: boolean;
  readonly isImpaired: boolean;
  /** The provider rejects the token, for us or for the garden. */
  readonly lacksToken: boolean;
}

/** Summary of a cluster that has a Shoot. Derived from facts: no decision uses it. */
export function phaseOf(desired: Desired, facts: ShootFacts, findings: ShootFindings): ClusterPhase {
  const { lastOperation, hibernation } = facts;
  if (desired.isDeleting) return findings.hasGivenUp ? 'Failed' : 'Deleting';
  if (facts.isDeleting) return 'Deleting';
  const migration = migrationOf(facts);
  if (migration === 'Migrating' || migration === 'Restoring') return 'Updating';
  if (lastOperation === null || (lastOperation.type === 'Create' && lastOperation.state === 'Pending'))
    return 'Pending';
  if (isKeptFromWork(desired, facts, findings))
    return hibernation.actual && hibernation.desired ? 'Hibernated' : 'Degraded';
  if (findings.hasGivenUp) return 'Failed';
  if (lastOperation.type === 'Create' && lastOperation.state !== 'Succeeded') return 'Provisioning';
  if (isChanging(desired, facts, findings)) {
    if (hibernation.desired === hibernation.actual) return 'Updating';
    return hibernation.desired ? 'Hibernating' : 'Resuming';
  }
  if (hibernation.actual) return 'Hibernated';
  // A client that waits for `Ready` after a change waits for the change, even when it is blocked.
  return findings.isImpaired || !findings.isConverged ? 'Degraded' : 'Ready';
}

/**
 * An existing cluster keeps running without a valid token. Only what the garden would do to it now fails.
 *
 */
function isKeptFromWork({ known }: Desired, { lastOperation }: ShootFacts, findings: ShootFindings): boolean {
  if (!findings.lacksToken || known.observedGeneration === 0) return false;
  return findings.hasGivenUp || lastOperation?.state === 'Error';
}

/**
 * The garden reconciles every cluster regularly, which is not a change. A change is a new declaration, or an edit by another
 * manager until its run has ended.
 */
function isChanging(desired: Desired, facts: ShootFacts, { isConverged, isOnHold, drift }: ShootFindings): boolean {
  if (facts.hibernation.desired !== facts.hibernation.actual || isRunDue(facts)) return true;
  // Changes by other managers stay until the team's next declaration.
  if (!isConverged && desired.operation === null && drift.length > 0) return false;
  if (!isConverged) return !isOnHold;
  const wasChanging = ['Updating', 'Hibernating', 'Resuming'].includes(desired.known.phase);
  return wasChanging && facts.lastOperation?.state !== 'Succeeded';
}

/**
 * Phase of the migration of a control plane to another seed, or null when there is none. The garden refuses changes and the
 * deletion of a Shoot from `Migrating` on (gardener: docs/operations/control_plane_migration.md, plugin/pkg/shoot/validator).
 */
export function migrationOf({ seed, lastOperation, isMoving }: ShootFacts): MigrationPhase | null {
  if (lastOperation?.type === 'Migrate' || lastOperation?.type === 'LiveMigrate') {
    if (lastOperation.state !== 'Succeeded') return 'Migrating';
    return seed.actual === seed.desired && lastOperation.type === 'LiveMigrate' ? null : 'Restoring';
  }
  if (lastOperation?.type === 'Restore' && lastOperation.state !== 'Succeeded') return 'Restoring';
  if (seed.desired === null || seed.desired === seed.actual) return null;
  // A new Shoot has no previous seed, so there is nothing to migrate.
  if (seed.actual === null) return isMoving ? 'Restoring' : null;
  return 'Preparing';
}

/** 100 is reserved for success. */
const progressMax = 99;

/**
 * Progress of a running operation. The garden's own progress restarts with each attempt and counts different tasks each time,
 * so progress that was shown once never decreases.
 *
 * @param run the Shoot while a run for this operation is in progress, else null
 */
export function progressOf(operation: OpenOperation, run: ShootFacts | null): number {
  return Math.max(operation.progress, Math.min(progressMax, Math.max(0, run?.lastOperation?.progress ?? 0)));
}

/**
 * Delay of the next pass while work is in progress. The watch usually reports the end earlier. This is the safety net, and keeps the
 * displayed progress fresh.
 *
 * @returns milliseconds
 */
export function nextPassMsFor({ operation }: Desired): number {
  return operation === null ? 60_000 : 15_000;
}
