import {
  type ClusterErrorCode,
  type ClusterPhase,
  type Condition,
  type ConditionReason,
  driftConditionType,
} from '@corral/contracts';
import { absenceConditionType, absenceIsCertainAt, isOnHold, lateCreationMs } from '../decide/decide.js';
import {
  convergedGeneration,
  hasFailed,
  isApplied,
  isRunDue,
  isStale,
  type Retry,
  retryOf,
} from '../decide/shoot-runs.js';
import { blocksOperation, driftOf, driftSentence, isRevertible } from '../drift/drift.js';
import type { Desired, Observed, OpenOperation, OperationVerdict, Verdict } from '../model.js';
import { factsOf, type ShootFacts } from '../observe.js';
import {
  type ConditionDraft,
  connectionReady,
  constraintConditions,
  controlPlaneReady,
  drifted,
  healthConditions,
  noCluster,
  nodesReady,
  notReconciled,
  ownCondition,
  reconciled,
  specAccepted,
  stamped,
} from './conditions.js';
import { observedCluster } from './observed-cluster.js';
import { migrationOf, nextPassMsFor, phaseOf, progressOf, type ShootFindings } from './phase.js';
import { type ProviderProblem, sentenceFor, tokenRefusal } from './provider-problems.js';
import { unchangedVerdict, waitIn } from './waiting.js';

/** Delay after a read that is older than our last write, in milliseconds. */
const staleLookAgainMs = 5_000;
/** How long an error that only the team can fix may last before the operation fails, even if the garden still retries. */
const userFaultMs = 10 * 60_000;
/** How long another manager may own a declared field before the operation fails, in milliseconds. */
const conflictMs = 10 * 60_000;

/**
 * Derives the verdict that clients see. Pure and total.
 *
 * @param circumstances isObstructed: the declaration cannot be applied, so no change is in progress
 */
export function judge(
  desired: Desired,
  seen: Observed,
  now: Date,
  { isObstructed } = { isObstructed: false },
): Verdict {
  switch (seen.kind) {
    case 'foreign':
      return judgeForeign(desired, now);
    case 'absent':
      return desired.isDeleting ? judgeLeaving(desired, now) : judgeAbsent(desired, now);
    case 'present': {
      const facts = factsOf(seen.shoot);
      return isStale(desired.known, facts)
        ? unchangedVerdict(desired, staleLookAgainMs)
        : judgeShoot(desired, facts, isObstructed, now);
    }
  }
}

function judgeShoot(desired: Desired, facts: ShootFacts, isObstructed: boolean, now: Date): Verdict {
  const { known } = desired;
  const retry = retryOf(desired, facts, now);
  const drift = driftOf(desired, facts);
  const isDrifted = drift.some(blocksOperation);
  const converged = isDrifted ? null : convergedGeneration(desired, facts);
  const observedGeneration = Math.max(known.observedGeneration, converged ?? 0);
  const connection = connectionReady(desired, facts);
  const controlPlane = controlPlaneReady(facts);
  const nodes = nodesReady(desired, facts);
  const health = healthConditions(facts);
  const findings: ShootFindings = {
    isConverged: observedGeneration === desired.generation && isApplied(desired, facts) && !isDrifted,
    drift,
    hasGivenUp: hasFailed(facts) && (retry.kind === 'never' || waitsForToken(desired)),
    isOnHold: isObstructed || (isOnHold(desired) && !isApplied(desired, facts)),
    lacksToken: isFalse(connection),
    isImpaired:
      drift.some(isRevertible) ||
      facts.problems.length > 0 ||
      [connection, controlPlane, nodes, ...health].some(isFalse),
  };
  const phase = phaseOf(desired, facts, findings);
  const drafts = [
    specAccepted(desired),
    connection,
    controlPlane,
    nodes,
    reconciled(desired, facts, phase, findings),
    ...health,
    ...constraintConditions(facts),
    ...drifted(drift),
  ];
  const conditions = stamped(drafts, known.conditions, now);
  const operation = operationVerdict(desired, facts, findings, conditions, now);
  return {
    phase,
    conditions,
    seedName: facts.seed.actual,
    migrationPhase: migrationOf(facts),
    observed: observedCluster(desired, facts, now),
    observedGeneration,
    operation,
    waiting: waitOf(desired, conditions, operation, isDrifted, now),
    nextPassMs: nextPassMsOf(desired, facts, findings, retry, now),
  };
}

/** A raised image or a pool of others is told, and delays nothing. */
function waitOf(
  desired: Desired,
  conditions: readonly Condition[],
  operation: OperationVerdict,
  isDrifted: boolean,
  now: Date,
): Verdict['waiting'] {
  const waiting = waitIn(conditions, operation, desired, now);
  return waiting?.reason === 'Drifted' && !isDrifted ? null : waiting;
}

/** With a rejected token, only deletion is tried. */
function waitsForToken({ connection, isDeleting }: Desired): boolean {
  return connection.phase === 'Rejected' && !isDeleting;
}

function isFalse({ status }: ConditionDraft): boolean {
  return status === 'False';
}

function operationVerdict(
  desired: Desired,
  facts: ShootFacts,
  findings: ShootFindings,
  conditions: readonly Condition[],
  now: Date,
): OperationVerdict {
  const { operation, failedOperationId, isDeleting } = desired;
  if (operation === null) {
    return failedOperationId !== null && !isDeleting && findings.isConverged ? { to: 'succeeded' } : { to: 'stay' };
  }
  if (!isDeleting && facts.isDeleting) return failedOf('shoot_missing', desired);
  if (!isDeleting && findings.isConverged) return { to: 'succeeded' };
  if (waitsForToken(desired) && findings.isOnHold) {
    return failedOf(tokenRefusal(desired).code, desired);
  }
  if (!isDeleting && findings.drift.some(blocksOperation) && lastsTooLong(operation, conditions, now)) {
    return { to: 'failed', code: 'field_conflict', message: driftSentence(findings.drift.filter(blocksOperation)) };
  }
  const problem = facts.problems[0];
  if (findings.hasGivenUp || isUserFaultForLong(problem, facts, now)) {
    return failedOf(problem?.code ?? 'internal_error', desired, problem);
  }
  return { to: 'running', progress: progressOf(operation, isRunFor(desired, facts) ? facts : null) };
}

/** The condition contains the start of the conflict. Time before this operation was accepted does not count. */
function lastsTooLong({ acceptedAt }: OpenOperation, conditions: readonly Condition[], now: Date): boolean {
  const drifted = conditions.find(({ type }) => type === driftConditionType);
  if (drifted === undefined) return false;
  const since = Math.max(Date.parse(drifted.lastTransitionTime), acceptedAt.getTime());
  return now.getTime() - since >= conflictMs;
}

/**
 * Most failures on this provider carry no code, so the garden retries for up to twelve hours in vain. It gets a few attempts,
 * because a single refusal may be the provider's own fault.
 */
function isUserFaultForLong(problem: ProviderProblem | undefined, facts: ShootFacts, now: Date): boolean {
  const { lastOperation, retryCycleStartedAt } = facts;
  if (!problem?.needsUser || !problem.isCurrent || lastOperation?.state !== 'Error') return false;
  return retryCycleStartedAt !== null && now.getTime() - retryCycleStartedAt.getTime() >= userFaultMs;
}

/** Whether the visible run is for the current declaration and not for the one before. */
function isRunFor(desired: Desired, facts: ShootFacts): boolean {
  if (desired.isDeleting) return facts.lastOperation?.type === 'Delete';
  return (
    isApplied(desired, facts) && facts.observedGeneration >= (desired.known.appliedShootGeneration ?? facts.generation)
  );
}

function failedOf(code: ClusterErrorCode, desired: Desired, problem?: ProviderProblem): OperationVerdict {
  return { to: 'failed', code, message: sentenceFor(code, desired, problem) };
}

function nextPassMsOf(
  desired: Desired,
  facts: ShootFacts,
  findings: ShootFindings,
  retry: Retry,
  now: Date,
): number | null {
  if (retry.kind === 'later') return Math.max(0, retry.at.getTime() - now.getTime());
  const isLeft = desired.operation === null && findings.drift.length > 0;
  const isAtRest = facts.lastOperation?.state === 'Succeeded' && !isRunDue(facts);
  const isSteady = (findings.isConverged || isLeft) && isAtRest;
  return isSteady || findings.hasGivenUp || (waitsForToken(desired) && findings.isOnHold)
    ? null
    : nextPassMsFor(desired);
}

/** A foreign Shoot has the name. Only operators can find out why. */
function judgeForeign(desired: Desired, now: Date): Verdict {
  return {
    ...verdict(desired, 'Failed', [failing('NameCollision', 'name_collision', desired)], now),
    operation: failed(desired, 'name_collision'),
  };
}

function judgeAbsent(desired: Desired, now: Date): Verdict {
  if (desired.known.shootUid !== null) return judgeVanished(desired, now);
  if (desired.connection.phase === 'Rejected') {
    const { code } = tokenRefusal(desired);
    return {
      ...verdict(desired, 'Failed', [failing('ConnectionNotReady', code, desired)], now),
      operation: failed(desired, code),
    };
  }
  const why = isOnHold(desired)
    ? notReconciled('ConnectionNotReady', 'The cluster is waiting until the provider confirms the connection.')
    : notReconciled('Pending', 'The cluster is about to be created.');
  return {
    ...open(desired, verdict(desired, 'Pending', [why], now), now),
    nextPassMs: nextPassMsFor(desired),
  };
}

/** The cluster is not created again, because that would hide that its contents are lost. */
function judgeVanished(desired: Desired, now: Date): Verdict {
  const message = sentenceFor('shoot_missing', desired);
  const drafts: ConditionDraft[] = [
    notReconciled('ShootMissing', message),
    ownCondition('ShootMissing', 'True', 'RemovedExternally', message),
  ];
  return { ...verdict(desired, 'Failed', drafts, now), operation: failed(desired, 'shoot_missing') };
}

/** Deletion of a cluster without an observed Shoot, which may still be in creation. */
function judgeLeaving(desired: Desired, now: Date): Verdict {
  const message = 'No cluster was found. The service is checking that none is still being created.';
  const drafts: ConditionDraft[] = [
    notReconciled('Deleting', 'The cluster is being deleted.'),
    ownCondition(absenceConditionType, 'Unknown', 'Waiting', message),
  ];
  const certainAt = absenceIsCertainAt(desired) ?? new Date(now.getTime() + lateCreationMs);
  return {
    ...open(desired, verdict(desired, 'Deleting', drafts, now), now),
    nextPassMs: Math.max(0, certainAt.getTime() - now.getTime()),
  };
}

function verdict(desired: Desired, phase: ClusterPhase, drafts: readonly ConditionDraft[], now: Date): Verdict {
  const all: ConditionDraft[] = [
    specAccepted(desired),
    connectionReady(desired, null),
    noCluster('ControlPlaneReady'),
    noCluster('NodesReady'),
    ...drafts,
  ];
  return {
    phase,
    conditions: stamped(all, desired.known.conditions, now),
    seedName: null,
    migrationPhase: null,
    observed: null,
    observedGeneration: desired.known.observedGeneration,
    operation: { to: 'stay' },
    waiting: null,
    nextPassMs: null,
  };
}

function failing(reason: ConditionReason, code: ClusterErrorCode, desired: Desired): ConditionDraft {
  return notReconciled(reason, sentenceFor(code, desired));
}

/** The verdict with its operation, which goes on. */
function open(desired: Desired, verdict: Verdict, now: Date): Verdict {
  if (desired.operation === null) return verdict;
  const operation: OperationVerdict = { to: 'running', progress: progressOf(desired.operation, null) };
  return { ...verdict, operation, waiting: waitIn(verdict.conditions, operation, desired, now) };
}

function failed(desired: Desired, code: ClusterErrorCode): OperationVerdict {
  if (desired.operation === null) return { to: 'stay' };
  return { to: 'failed', code, message: sentenceFor(code, desired) };
}
