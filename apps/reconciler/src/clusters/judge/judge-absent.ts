import type { ClusterErrorCode, ClusterPhase, ConditionReason } from '@corral/contracts';
import { absenceConditionType, absenceIsCertainAt, lateCreationMs } from '../decide/decide.js';
import { isOnHold, tokenRefusal } from '../decide/token-readiness.js';
import type { Desired, OperationVerdict, Verdict } from '../model.js';
import { type ConditionDraft, connectionReady, noCluster, ownCondition, specAccepted, stamped } from './conditions.js';
import { nextPassMsFor, progressOf } from './progress.js';
import { sentenceFor } from './provider-problems.js';
import { notReconciled } from './reconciled.js';
import { waitIn } from './waiting.js';

/** A foreign Shoot has the name. Only operators can find out why. */
export function judgeForeign(desired: Desired, now: Date): Verdict {
  return {
    ...verdict(desired, 'Failed', [failing('NameCollision', 'name_collision', desired)], now),
    operation: failed(desired, 'name_collision'),
  };
}

export function judgeAbsent(desired: Desired, now: Date): Verdict {
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
export function judgeLeaving(desired: Desired, now: Date): Verdict {
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

/** With its operation, which goes on. */
function open(desired: Desired, verdict: Verdict, now: Date): Verdict {
  if (desired.operation === null) return verdict;
  const operation: OperationVerdict = { to: 'running', progress: progressOf(desired.operation, null) };
  return { ...verdict, operation, waiting: waitIn(verdict.conditions, operation, desired, now) };
}

function failed(desired: Desired, code: ClusterErrorCode): OperationVerdict {
  if (desired.operation === null) return { to: 'stay' };
  return { to: 'failed', code, message: sentenceFor(code, desired) };
}
