import type { ClusterErrorCode } from '@corral/contracts';
import type { Failure } from './classify-failure.js';
import { type Draft, stamped } from './conditions.js';
import { judge } from './judge.js';
import type { Desired, Observed, Verdict } from './model.js';
import { sentenceFor } from './provider-sentences.js';
import { notReconciled } from './reconciled.js';

/**
 * Says what clients are told when a step has failed: what `judge` says of what was seen, and what stands in the way of
 * the declaration.
 *
 * @param seen null when the pass failed before it saw anything
 * @returns null for failures that tell nothing about the cluster: what clients last read of it stands
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
    // Without a Shoot there is nothing that could still be called well.
    phase: verdict.phase === 'Pending' ? 'Failed' : verdict.phase,
    conditions,
    operation: desired.operation === null ? { to: 'stay' } : { to: 'failed', ...obstacle.end },
    lookAgainMs: null,
  };
}

interface Obstacle {
  readonly conditions: readonly Draft[];
  /** What the operation fails of; null while there is hope. */
  readonly end: { readonly code: ClusterErrorCode; readonly message: string } | null;
}

function obstacleOf(failure: Failure, desired: Desired): Obstacle | null {
  if (failure.kind === 'needsUser') {
    const { code, reason, message } = failure;
    const accepted: Draft = { type: 'SpecAccepted', status: 'False', reason, message };
    return { conditions: [accepted, notReconciled(reason, message)], end: { code, message } };
  }
  if (failure.kind === 'platform') {
    return { conditions: [notReconciled(failure.reason, sentenceFor(failure.code, desired))], end: null };
  }
  return null;
}
