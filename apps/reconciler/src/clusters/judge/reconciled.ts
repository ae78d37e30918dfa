import type { ClusterPhase, ConditionReason } from '@corral/contracts';
import { isApplied } from '../decide/shoot-runs.js';
import { driftSentence, shownName } from '../drift/drift.js';
import type { Desired } from '../model.js';
import type { ShootFacts } from '../observe.js';
import { type ConditionDraft, ownCondition } from './conditions.js';
import type { ShootFindings } from './phase.js';
import { migrationOf } from './phase.js';
import { sentenceFor } from './provider-problems.js';

/** The condition that says whether the cluster matches its declaration, and if not, why. */
export function reconciled(
  desired: Desired,
  facts: ShootFacts,
  phase: ClusterPhase,
  findings: ShootFindings,
): ConditionDraft {
  const problem = facts.problems[0];
  const sentence = problem && sentenceFor(problem.code, desired, problem);
  if (problem?.isCurrent) return notReconciled(problem.reason, sentence ?? '');
  if (problem !== undefined) {
    return notReconciled('Retrying', `The last attempt failed. ${sentence} Another attempt is in progress.`);
  }
  if (isKeptByOthers(facts)) return notReconciled('CleanupBlocked', keptByOthers(facts));
  if (findings.hasGivenUp) {
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
  if (findings.drift.length > 0) return notReconciled('Drifted', driftSentence(findings.drift));
  if (findings.isConverged)
    return ownCondition('Reconciled', 'True', 'Reconciled', 'The cluster matches its specification.');
  if (findings.isOnHold) {
    return notReconciled('ConnectionNotReady', 'The change waits until the provider accepts the connection.');
  }
  return notReconciled(reasons[phase] ?? 'Updating', 'The cluster is being changed to match its specification.');
}

/** The garden has deleted everything but the Shoot itself. */
const isKeptByOthers = ({ isDeleting, lastOperation, foreignFinalizers }: ShootFacts): boolean =>
  isDeleting && lastOperation?.type === 'Delete' && lastOperation.state === 'Succeeded' && foreignFinalizers.length > 0;

const keptByOthers = ({ foreignFinalizers: names }: ShootFacts): string =>
  `The cluster is gone, but finalizers of others keep its entry in the garden: ${names.map(shownName).join(', ')}. Whoever set them has to remove them.`;

export const notReconciled = (reason: ConditionReason, message: string): ConditionDraft =>
  ownCondition('Reconciled', 'False', reason, message);

const reasons: Partial<Record<ClusterPhase, ConditionReason>> = {
  Pending: 'Pending',
  Provisioning: 'Creating',
  Hibernating: 'Hibernating',
  Resuming: 'Resuming',
};
