import type { ClusterErrorCode } from '@corral/contracts';
import type { Failure } from '../classify.js';
import type { Desired, Observed, Verdict } from '../model.js';
import { type ConditionDraft, notReconciled, ownCondition, stamped } from './conditions.js';
import { judge } from './judge.js';
import { sentenceFor } from './provider-problems.js';

/**
 * The verdict after a failed step: the verdict of `judge` on the observation, plus the obstacle to the declaration.
 *
 *
 * @param seen null when the pass failed before it observed anything
 * @returns null for failures that say nothing about the cluster: the previous verdict stays
 */
export function judgeFailure(desired: Desired, seen: Observed | null, failure: Failure, now: Date): Verdict | null {
  if (seen === null || failure.kind === 'pause' || failure.kind === 'bug') return null;
  const obstacle = obstacleOf(failure, desired);
  if (obstacle === null) return judge(desired, seen, now);
  const verdict = judge(desired, seen, now, { isObstructed: true });
  const obstructing = stamped(obstacle.conditions, desired.known.conditions, now);
  const conditions = verdict.conditions.map((each) => obstructing.find(({ type }) => type === each.type) ?? each);
  if (obstacle.end === null) return { ...verdict, conditions };
  return {
    ...verdict,
    // Without a Shoot there is nothing healthy to report.
    phase: verdict.phase === 'Pending' ? 'Failed' : verdict.phase,
    conditions,
    operation: desired.operation === null ? { to: 'stay' } : { to: 'failed', ...obstacle.end },
    waiting: null,
    nextPassMs: null,
  };
}

interface Obstacle {
  readonly conditions: readonly ConditionDraft[];
  /** Why the operation fails, or null while it may still succeed. */
  readonly end: { readonly code: ClusterErrorCode; readonly message: string } | null;
}

function obstacleOf(failure: Failure, desired: Desired): Obstacle | null {
  if (failure.kind === 'needsUser') {
    const { code, reason, message } = failure;
    const accepted = ownCondition('SpecAccepted', 'False', reason, message);
    return { conditions: [accepted, notReconciled(reason, message)], end: { code, message } };
  }
  if (failure.kind === 'platform') {
    return { conditions: [notReconciled(failure.reason, sentenceFor(failure.code, desired))], end: null };
  }
  return null;
}
