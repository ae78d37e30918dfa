import { type OperationErrorCode, openOperationStates, operationErrorCodes, type TeamId } from '@corral/contracts';
import type { Transaction } from '@corral/database';
import { isOpenIn } from './operations.js';

/* How operations go on and end: all values that an end writes are here. */

/** What becomes of an operation at the end of a pass. */
export type OperationVerdict<Code extends OperationErrorCode> =
  /** There is none, or it stays as it is. */
  | { readonly to: 'stay' }
  | { readonly to: 'running'; readonly progress: number }
  | { readonly to: 'succeeded' }
  | { readonly to: 'failed'; readonly code: Code; readonly message: string };

/** 100 is what `succeeded` alone may say. */
const PROGRESS_MAX_RUNNING = 99;

/** As columns: state, progress, error, and whether that is final. */
export function operationValues(verdict: OperationVerdict<OperationErrorCode>): [string, number, string, boolean] {
  switch (verdict.to) {
    case 'stay':
      return ['running', 0, '{}', false];
    case 'running':
      return ['running', Math.min(PROGRESS_MAX_RUNNING, Math.max(0, Math.round(verdict.progress))), '{}', false];
    case 'succeeded':
      return ['succeeded', 100, '{}', true];
    case 'failed': {
      const { code, message } = verdict;
      const { retryable, hint } = operationErrorCodes[code];
      return ['failed', 0, JSON.stringify({ code, message, retryable, hint }), true];
    }
  }
}

/** Parameters of a statement, such as `$14`. The first four are `operationValues`. */
export interface VerdictParameters {
  readonly state: string;
  readonly progress: string;
  readonly error: string;
  readonly isFinal: string;
  /** Whether state and progress change; without it they do. */
  readonly changes?: string;
  /** An expression: why the operation does not get on, or null. */
  readonly waiting: string;
}

/** The assignments of an `UPDATE operation` that writes a verdict. Progress never falls. */
export function verdictAssignments({
  state,
  progress,
  error,
  isFinal,
  changes = 'true',
  waiting,
}: VerdictParameters): string {
  return `
    state = CASE WHEN ${changes} THEN ${state}::operation_state ELSE state END,
    progress = CASE WHEN ${changes} THEN greatest(progress, ${progress}) ELSE progress END,
    error = ${error}::jsonb, waiting = ${waiting}, updated_at = clock_timestamp(),
    finished_at = CASE WHEN ${isFinal} THEN clock_timestamp() END`;
}

/** Which operations a verdict changes: those that are open and of which it says something new. `waiting` is a parameter. */
export function isNewsAbout({
  state,
  progress,
  isFinal,
  changes,
  waiting,
}: Required<Pick<VerdictParameters, 'state' | 'progress' | 'isFinal' | 'changes' | 'waiting'>>): string {
  return `${isOpenIn('operation')}
    AND (${isFinal} OR operation.waiting IS DISTINCT FROM ${waiting}
         OR ${changes} AND (operation.state <> ${state}::operation_state OR operation.progress < ${progress}))`;
}

/**
 * The statement by which open operations succeed because their target is gone, for a CTE.
 *
 * @param gone a CTE that deletes the targets and returns their `id` and `team_id`
 */
export const succeedOperationsOf = (gone: string): string => `
  UPDATE operation
  SET state = 'succeeded', progress = 100, waiting = NULL, updated_at = clock_timestamp(), finished_at = clock_timestamp()
  FROM ${gone}
  WHERE operation.target_id = ${gone}.id AND operation.team_id = ${gone}.team_id AND ${isOpenIn('operation')}`;

/** Cancels what is open about a target that goes before it was done. @param now the database's clock */
export async function cancelOperations(
  tx: Pick<Transaction, 'operation'>,
  { teamId, targetId, now }: { readonly teamId: TeamId; readonly targetId: string; readonly now: Date },
): Promise<void> {
  await tx.operation.updateMany({
    where: { teamId, targetId, state: { in: [...openOperationStates] } },
    data: { state: 'cancelled', updatedAt: now, finishedAt: now },
  });
}
