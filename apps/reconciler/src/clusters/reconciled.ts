import type { ClusterPhase } from '@corral/contracts';
import type { Draft } from './conditions.js';
import { driftSentence } from './drift.js';
import { migrationOf } from './migration.js';
import type { Desired } from './model.js';
import type { Standing } from './phase.js';
import { sentenceFor } from './provider-sentences.js';
import { isApplied } from './run.js';
import type { ShootFacts } from './shoot-facts.js';

const type = 'Reconciled';

/** Whether the cluster is as it was declared, and if not, why not yet. */
export function reconciled(desired: Desired, facts: ShootFacts, phase: ClusterPhase, standing: Standing): Draft {
  const problem = facts.problems[0];
  if (problem?.isCurrent) return notReconciled(problem.reason, sentenceFor(problem.code, desired, problem.workers));
  if (problem !== undefined)
    return notReconciled('Retrying', 'The last attempt failed. Another attempt is in progress.');
  if (standing.hasGivenUp) {
    return notReconciled('PlatformFault', sentenceFor('internal_error', desired));
  }
  if (desired.isDeleting) return notReconciled('Deleting', 'The cluster is being deleted.');
  if (facts.isDeleting)
    return notReconciled('DeletedExternally', 'The cluster is being deleted, but not by this service.');
  const migration = migrationOf(facts);
  if (migration !== null && (migration !== 'Preparing' || !isApplied(desired, facts))) {
    return notReconciled(
      'ControlPlaneMigrating',
      'The control plane is being migrated. Changes wait until the migration has finished.',
    );
  }
  if (standing.drift.length > 0) return notReconciled('Drifted', driftSentence(standing.drift));
  if (standing.isConverged)
    return { type, status: 'True', reason: 'Reconciled', message: 'The cluster matches its specification.' };
  if (standing.isOnHold) {
    return notReconciled('ConnectionNotReady', 'The change waits until the provider accepts the connection.');
  }
  return notReconciled(reasons[phase] ?? 'Updating', 'The cluster is being changed to match its specification.');
}

export function notReconciled(reason: string, message: string): Draft {
  return { type, status: 'False', reason, message };
}

const reasons: Partial<Record<ClusterPhase, string>> = {
  Pending: 'Pending',
  Provisioning: 'Creating',
  Hibernating: 'Hibernating',
  Resuming: 'Resuming',
};
