import { type ClusterErrorCode, type Condition, driftConditionType } from '@corral/contracts';
import {
  connectionReady,
  constraintConditions,
  controlPlaneReady,
  type Draft,
  drifted,
  healthConditions,
  nodesReady,
  specAccepted,
  stamped,
} from './conditions.js';
import { driftOf, driftSentence, isInTheWay, isMendable } from './drift.js';
import { isOnHold, tokenRefusal } from './holds.js';
import { judgeAbsent, judgeForeign, judgeLeaving } from './judge-absent.js';
import { migrationOf } from './migration.js';
import type { Desired, Observed, OpenOperation, OperationVerdict, Verdict } from './model.js';
import { observedCluster } from './observed-cluster.js';
import { phaseOf, type Standing } from './phase.js';
import { lookAgainMsFor, progressOf } from './progress.js';
import type { ProviderProblem } from './provider-problems.js';
import { sentenceFor } from './provider-sentences.js';
import { reconciled } from './reconciled.js';
import { type Retry, retryOf } from './retry-failed.js';
import { convergedGeneration, hasFailed, isApplied, isRunDue, isStale } from './run.js';
import { factsOf, type ShootFacts } from './shoot-facts.js';
import { unchangedVerdict } from './waiting.js';

/** After a read that shows less than our own last write, and so tells nothing. */
const staleLookAgainMs = 5_000;
/** What only the team can mend fails its operation after so long, even if the garden still tries. */
const userFaultMs = 10 * 60_000;
/** What somebody else holds against a declaration for so long fails its operation. */
const conflictMs = 10 * 60_000;

/**
 * Says what clients are told about a cluster. Pure and total.
 *
 * @param circumstances isObstructed: what is declared cannot be handed over, so no change is under way
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
  const isDrifted = drift.some(isInTheWay);
  const converged = isDrifted ? null : convergedGeneration(desired, facts);
  const observedGeneration = Math.max(known.observedGeneration, converged ?? 0);
  const connection = connectionReady(desired, facts);
  const controlPlane = controlPlaneReady(facts);
  const nodes = nodesReady(desired, facts);
  const health = healthConditions(facts);
  const standing: Standing = {
    isConverged: observedGeneration === desired.generation && isApplied(desired, facts) && !isDrifted,
    drift,
    hasGivenUp: hasFailed(facts) && (retry.kind === 'never' || waitsForToken(desired)),
    isOnHold: isObstructed || (isOnHold(desired) && !isApplied(desired, facts)),
    lacksToken: isFalse(connection),
    isImpaired:
      drift.some(isMendable) || facts.problems.length > 0 || [connection, controlPlane, nodes, ...health].some(isFalse),
  };
  const phase = phaseOf(desired, facts, standing);
  const conditions = [
    specAccepted(desired),
    connection,
    controlPlane,
    nodes,
    reconciled(desired, facts, phase, standing),
    ...health,
    ...constraintConditions(facts),
    ...drifted(drift),
  ];
  const told = stamped(conditions, known.conditions, now);
  return {
    phase,
    conditions: told,
    seedName: facts.seed.actual,
    migrationPhase: migrationOf(facts),
    observed: observedCluster(desired, facts, now),
    observedGeneration,
    operation: operationVerdict(desired, facts, standing, told, now),
    lookAgainMs: lookAgain(desired, facts, standing, retry, now),
  };
}

/** Nothing is tried with a rejected token but to delete. */
function waitsForToken({ connection, isDeleting }: Desired): boolean {
  return connection.phase === 'Rejected' && !isDeleting;
}

function isFalse({ status }: Draft): boolean {
  return status === 'False';
}

function operationVerdict(
  desired: Desired,
  facts: ShootFacts,
  standing: Standing,
  told: readonly Condition[],
  now: Date,
): OperationVerdict {
  const { operation, isDeleting } = desired;
  if (operation === null) return { to: 'stay' };
  if (!isDeleting && facts.isDeleting) return failedOf('shoot_missing', desired);
  if (!isDeleting && standing.isConverged) return { to: 'succeeded' };
  if (waitsForToken(desired) && standing.isOnHold) {
    return failedOf(tokenRefusal(desired).code, desired);
  }
  if (!isDeleting && standing.drift.some(isInTheWay) && lastsTooLong(operation, told, now)) {
    return { to: 'failed', code: 'field_conflict', message: driftSentence(standing.drift.filter(isInTheWay)) };
  }
  const problem = facts.problems[0];
  if (standing.hasGivenUp || isUserFaultForLong(problem, facts, now)) {
    return failedOf(problem?.code ?? 'internal_error', desired, problem?.workers);
  }
  return { to: 'running', progress: progressOf(operation, isRunFor(desired, facts) ? facts : null) };
}

/** Since when others have stood against what is declared, the condition tells; against this change, not before it came. */
function lastsTooLong({ acceptedAt }: OpenOperation, told: readonly Condition[], now: Date): boolean {
  const drifted = told.find(({ type }) => type === driftConditionType);
  if (drifted === undefined) return false;
  const since = Math.max(Date.parse(drifted.lastTransitionTime), acceptedAt.getTime());
  return now.getTime() - since >= conflictMs;
}

/**
 * Most failures on this provider carry no code, so the garden does not know that trying again for twelve hours is in
 * vain. A few attempts are left to it, because a single refusal may be the provider's own fault.
 */
function isUserFaultForLong(problem: ProviderProblem | undefined, facts: ShootFacts, now: Date): boolean {
  const { lastOperation, retryCycleStartedAt } = facts;
  if (!problem?.needsUser || !problem.isCurrent || lastOperation?.state !== 'Error') return false;
  return retryCycleStartedAt !== null && now.getTime() - retryCycleStartedAt.getTime() >= userFaultMs;
}

/** Whether the run that shows is one for the present declaration, and not still the one before. */
function isRunFor(desired: Desired, facts: ShootFacts): boolean {
  if (desired.isDeleting) return facts.lastOperation?.type === 'Delete';
  return (
    isApplied(desired, facts) && facts.observedGeneration >= (desired.known.appliedShootGeneration ?? facts.generation)
  );
}

function failedOf(code: ClusterErrorCode, desired: Desired, workers?: readonly string[]): OperationVerdict {
  return { to: 'failed', code, message: sentenceFor(code, desired, workers) };
}

function lookAgain(desired: Desired, facts: ShootFacts, standing: Standing, retry: Retry, now: Date): number | null {
  if (retry.kind === 'later') return Math.max(0, retry.at.getTime() - now.getTime());
  const isLeft = desired.operation === null && standing.drift.length > 0;
  const isAtRest = facts.lastOperation?.state === 'Succeeded' && !isRunDue(facts);
  const isSteady = (standing.isConverged || isLeft) && isAtRest;
  return isSteady || standing.hasGivenUp || (waitsForToken(desired) && standing.isOnHold)
    ? null
    : lookAgainMsFor(desired);
}
