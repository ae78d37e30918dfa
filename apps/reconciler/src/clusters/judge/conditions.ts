import {
  type ClusterPhase,
  type Condition,
  type ConditionReason,
  driftConditionType,
  type OwnConditionTypeName,
} from '@corral/contracts';
import { isApplied } from '../decide/shoot-runs.js';
import { type Drift, driftSentence, isRevertible, shownName } from '../drift/drift.js';
import type { Desired } from '../model.js';
import type { GardenCondition, ShootFacts } from '../observe.js';
import { renderedPools } from '../render.js';
import { migrationOf, type ShootFindings } from './phase.js';
import { poolsText, sentenceFor, tokenRefusal } from './provider-problems.js';

export type ConditionDraft = Omit<Condition, 'lastTransitionTime'>;

/** A condition of this service, in words that the contracts explain. Others repeat the garden's words. */
export const ownCondition = (
  type: OwnConditionTypeName,
  status: Condition['status'],
  reason: ConditionReason,
  message: string,
): ConditionDraft => ({ type, status, reason, message });

/** Sets each condition's time of its last status change. */
export function stamped(drafts: readonly ConditionDraft[], known: readonly Condition[], now: Date): Condition[] {
  return drafts.map((draft) => {
    const before = known.find(({ type }) => type === draft.type);
    const since = before?.status === draft.status ? before.lastTransitionTime : now.toISOString();
    return { ...draft, lastTransitionTime: since };
  });
}

/**
 * A declared specification was validated, so it counts as accepted until the garden refuses it. Also reports pools with a
 * minimum of zero: the provider does not scale to zero. This is a property of the specification and not of the nodes'
 * health.
 */
export function specAccepted({ pools }: Desired): ConditionDraft {
  const type = 'SpecAccepted';
  const raised = renderedPools(pools).filter(({ minimum }) => minimum === 0);
  if (raised.length === 0) {
    return ownCondition(type, 'True', 'Accepted', 'The specification is accepted.');
  }
  const names = poolsText(raised.map(({ name }) => name));
  const message = `The provider keeps at least one node in each pool with a maximum above zero: ${names}.`;
  return ownCondition(type, 'True', 'MinimumRaised', message);
}

export function connectionReady(desired: Desired, facts: ShootFacts | null): ConditionDraft {
  const type = 'ConnectionReady';
  const { ref, phase, gardenTokenVersion, tokenVersion } = desired.connection;
  if (phase === 'Rejected') {
    const { code, reason } = tokenRefusal(desired);
    return ownCondition(type, 'False', reason, sentenceFor(code, desired));
  }
  const isRolledOut = gardenTokenVersion >= tokenVersion && desired.known.appliedTokenVersion >= gardenTokenVersion;
  const refusal = facts?.problems.find(
    ({ code }) => code === 'provider_token_rejected' || code === 'provider_permission_denied',
  );
  // The refusal of an earlier token says nothing about the present one.
  if (refusal !== undefined && isRolledOut) {
    return ownCondition(type, 'False', refusal.reason, sentenceFor(refusal.code, desired));
  }
  if (phase === 'Unverified') {
    const message = `The provider has not confirmed the token of connection ${ref} yet.`;
    return ownCondition(type, 'Unknown', 'Unverified', message);
  }
  if (facts !== null && !isRolledOut) {
    return ownCondition(type, 'True', 'TokenRollingOut', 'The cluster is about to switch to a new token.');
  }
  return ownCondition(type, 'True', 'Verified', `The provider accepts connection ${ref}.`);
}

const asleep = {
  status: 'Unknown',
  reason: 'Hibernated' satisfies ConditionReason,
  message: 'Not checked while the cluster is hibernated.',
} as const;

/** What the next declaration sets back: a version that the garden has raised is not part of it. */
export function drifted(drift: readonly Drift[]): ConditionDraft[] {
  const revertible = drift.filter(isRevertible);
  if (revertible.length === 0) return [];
  return [ownCondition(driftConditionType, 'True', 'ChangedByOthers', driftSentence(revertible))];
}

/** The state of conditions that need a cluster to check. */
export const noCluster = (type: OwnConditionTypeName): ConditionDraft =>
  ownCondition(type, 'False', 'NoCluster', 'There is no cluster.');

export function controlPlaneReady(facts: ShootFacts): ConditionDraft {
  const type = 'ControlPlaneReady';
  if (isAsleep(facts)) return { type, ...asleep };
  const reported = ['APIServerAvailable', 'ControlPlaneHealthy'].map((name) => conditionOf(facts, name));
  const worst =
    reported.find(({ status }) => status === 'False') ?? reported.find(({ status }) => status === 'Unknown');
  const { status, reason } = worst ?? {
    status: 'True' as const,
    reason: 'ControlPlaneHealthy' satisfies ConditionReason,
  };
  return { type, status, reason, message: sayings.ControlPlaneReady[status] };
}

export function nodesReady(desired: Desired, facts: ShootFacts): ConditionDraft {
  const type = 'NodesReady';
  if (isAsleep(facts) && facts.hibernation.desired) return { type, ...asleep };
  // Reported for the pool and not only for the cluster: accepted pools may be out of stock when they grow or resume.
  const shortage = facts.problems.find(
    ({ code }) => code === 'provider_capacity' || code === 'provider_quota_exceeded',
  );
  if (shortage !== undefined) {
    const { code, reason } = shortage;
    return ownCondition(type, 'False', reason, sentenceFor(code, desired, shortage));
  }
  if (isAsleep(facts)) return { type, ...asleep };
  const { status, reason } = conditionOf(facts, 'EveryNodeReady');
  return { type, status, reason, message: sayings.NodesReady[status] };
}

/** The garden's own conditions with our messages, because the garden's messages name internals. */
export function healthConditions(facts: ShootFacts): ConditionDraft[] {
  return facts.conditions.map(({ type, status, reason }) => {
    if (isAsleep(facts) || reason === 'ConditionNotChecked') return { type, ...asleep };
    return { type, status, reason, message: (sayings[type] ?? sayings.other)[status] };
  });
}

/** Constraints of the garden on the cluster, as far as a team can resolve them. */
export function constraintConditions(facts: ShootFacts): ConditionDraft[] {
  return facts.constraints.flatMap(({ type, status, reason }) => {
    const said = constraintSayings[type];
    if (said === undefined) return [];
    return [reason === 'ConstraintNotChecked' ? { type, ...asleep } : { type, status, reason, message: said[status] }];
  });
}

/** The garden reports everything as healthy while a cluster is hibernated. */
function isAsleep({ hibernation }: ShootFacts): boolean {
  return hibernation.actual;
}

function conditionOf({ conditions }: ShootFacts, name: string): Omit<GardenCondition, 'type'> {
  const unknown = (reason: ConditionReason) => ({ status: 'Unknown', reason }) as const;
  const found = conditions.find(({ type }) => type === name) ?? unknown('NotReported');
  return found.reason === 'ConditionNotChecked' ? unknown('NotChecked') : found;
}

type Saying = Readonly<Record<Condition['status'], string>>;

const saying = (what: string, well: string, ill: string): Saying => ({
  True: `${what} ${well}.`,
  False: `${what} ${ill}.`,
  Unknown: `Whether ${what.charAt(0).toLowerCase()}${what.slice(1)} ${well} is currently unknown.`,
});

const sayings: Readonly<Record<string, Saying>> & Record<'ControlPlaneReady' | 'NodesReady' | 'other', Saying> = {
  ControlPlaneReady: saying('The control plane', 'works and answers', 'does not work correctly'),
  NodesReady: saying('Every node', 'is ready', 'must be ready, but some are not'),
  APIServerAvailable: saying('The API server', 'answers', 'does not answer'),
  ControlPlaneHealthy: saying('The control plane', 'is healthy', 'is not healthy'),
  EveryNodeReady: saying('Every node', 'is ready', 'must be ready, but some are not'),
  SystemComponentsHealthy: saying('The system components in the cluster', 'are healthy', 'are not healthy'),
  ObservabilityComponentsHealthy: saying('The monitoring of the cluster', 'is healthy', 'is not healthy'),
  other: saying('This part of the cluster', 'is reported as healthy', 'is reported as unhealthy'),
};

/** The garden's constraints that a team can resolve. */
const constraintSayings: Readonly<Record<string, Saying>> = {
  HibernationPossible: saying(
    'The cluster',
    'can be hibernated',
    'cannot be hibernated: a webhook in it blocks hibernation',
  ),
  MaintenancePreconditionsSatisfied: saying(
    'The cluster',
    'can be maintained',
    'cannot be maintained: a webhook in it blocks maintenance',
  ),
  CRDsWithProblematicConversionWebhooks: saying(
    'The cluster',
    'is free of problematic conversion webhooks',
    'has custom resources whose conversion webhooks can block the system',
  ),
  CACertificateValiditiesAcceptable: saying(
    'The cluster',
    'has certificates that do not expire soon',
    'has certificates that expire soon',
  ),
};

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
