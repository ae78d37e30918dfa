import { createHash } from 'node:crypto';
import {
  asOperationId,
  type ClusterSpec,
  isOpenOperation,
  type OperationError,
  type OperationErrorCode,
  type OperationId,
  type OperationKind,
  type OperationState,
  type OperationWaiting,
  openOperationStates,
  operationErrorCodes,
  type TeamId,
} from '@corral/contracts';
import { noJson, type Transaction } from '@corral/database';
import canonicalize from 'canonicalize';
import type { Columns } from './columns.js';

/** The person who requested an operation, as stored. */
export interface CreatorRow {
  readonly number: number;
  readonly email: string;
  readonly displayName: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** Prisma's `include` for `CreatorRow`. */
export const includeCreator = {
  creator: { select: { number: true, email: true, displayName: true, firstName: true, lastName: true } },
} as const;

/** SQL expression beside a row of `operation`: its `CreatorRow` as JSON. */
export const creatorOfOperation = `
  (SELECT json_build_object('number', number, 'email', email, 'displayName', display_name, 'firstName', first_name,
                            'lastName', last_name)
   FROM app_user WHERE app_user.id = operation.created_by)`;

export interface OperationRow {
  readonly id: string;
  readonly kind: string;
  readonly targetKind: string;
  readonly targetId: string;
  readonly targetName: string;
  readonly generation: number;
  readonly state: string;
  readonly progress: number;
  readonly error: unknown;
  readonly waiting: unknown;
  readonly desiredHash: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Absent where the reader does not need it. */
  readonly creator?: CreatorRow | null;
}

export const operationColumns = {
  id: 'id',
  kind: 'kind',
  targetKind: 'target_kind',
  targetId: 'target_id',
  targetName: 'target_name',
  generation: 'generation',
  state: 'state::text',
  progress: 'progress',
  error: 'error',
  waiting: 'waiting',
  desiredHash: 'desired_hash',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const satisfies Columns<Omit<OperationRow, 'creator'>>;

/** The operation of an accepted change. */
export interface OperationRecord {
  readonly id: OperationId;
  readonly kind: OperationKind;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  readonly generation: number;
  readonly state: OperationState;
  readonly progress: number;
  readonly error: OperationError;
  /** Why it is blocked; null once it has ended. */
  readonly waiting: OperationWaiting | null;
  readonly desiredHash: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Null if the service began the operation itself. */
  readonly creator: CreatorRow | null;
}

export function operationOf(row: OperationRow): OperationRecord {
  const state = row.state as OperationState;
  return {
    id: asOperationId(row.id),
    kind: row.kind as OperationKind,
    target: { kind: row.targetKind, id: row.targetId, name: row.targetName },
    generation: row.generation,
    state,
    progress: row.progress,
    error: row.error as OperationError,
    waiting: isOpenOperation({ state }) ? (row.waiting as OperationWaiting | null) : null,
    desiredHash: row.desiredHash,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    creator: row.creator ?? null,
  };
}

/** An operation read by `jsonOf` as part of another row. */
export type OperationJson = Omit<OperationRow, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: string;
  readonly updatedAt: string;
};

export const operationOfJson = (json: OperationJson): OperationRecord =>
  operationOf({ ...json, createdAt: new Date(json.createdAt), updatedAt: new Date(json.updatedAt) });

/** What `isOpenOperation` says, in SQL. @param table the table's name or its alias */
export const isOpenIn = (table: string): string =>
  `${table}.state IN (${openOperationStates.map((state) => `'${state}'`).join(', ')})`;

/* How operations go on and end: all values that an end writes are here. */

/** The effect of a pass on an operation. */
export type OperationVerdict<Code extends OperationErrorCode> =
  /** There is no operation, or it does not change. */
  | { readonly to: 'stay' }
  | { readonly to: 'running'; readonly progress: number }
  | { readonly to: 'succeeded' }
  | { readonly to: 'failed'; readonly code: Code; readonly message: string };

/** Only `succeeded` has 100. */
const PROGRESS_MAX_RUNNING = 99;

/** A verdict as columns: state, progress, error, and whether the state is final. */
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
  /** Whether state and progress change. Default: true. */
  readonly changes?: string;
  /** SQL expression: why the operation is blocked, or null. */
  readonly waiting: string;
}

/** Assignments of an `UPDATE operation` that writes a verdict. Progress never decreases. */
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

/**
 * SQL condition for operations that the verdict changes: open ones, and a failed one whose work is done after all. `waiting` is a
 * parameter.
 */
export function isNewsAbout({ state, progress, isFinal, changes, waiting }: Required<VerdictParameters>): string {
  return `(operation.state = 'failed' AND ${state}::operation_state = 'succeeded' OR ${isOpenIn('operation')}
    AND (${isFinal} OR operation.waiting IS DISTINCT FROM ${waiting}
         OR ${changes} AND (operation.state <> ${state}::operation_state OR operation.progress < ${progress})))`;
}

/**
 * Completes the operations of a target that is gone: the open ones, and its deletion if that had failed.
 *
 * @param now the database's clock
 */
export async function succeedOperations(
  tx: Transaction,
  { teamId, targetId, now }: { readonly teamId: TeamId; readonly targetId: string; readonly now: Date },
  deletion: { readonly kind: OperationKind; readonly generation: number },
): Promise<void> {
  const OR = [{ state: { in: [...openOperationStates] } }, { state: 'failed' as const, ...deletion }];
  await tx.operation.updateMany({
    where: { teamId, targetId, OR },
    data: { state: 'succeeded', progress: 100, error: {}, waiting: noJson, updatedAt: now, finishedAt: now },
  });
}

/** Cancels the open operations of a target that is deleted. @param now the database's clock */
export async function cancelOperations(
  tx: Transaction,
  { teamId, targetId, now }: { readonly teamId: TeamId; readonly targetId: string; readonly now: Date },
): Promise<void> {
  await tx.operation.updateMany({
    where: { teamId, targetId, state: { in: [...openOperationStates] } },
    data: { state: 'cancelled', updatedAt: now, finishedAt: now },
  });
}

/**
 * Hashes a specification by content. The order of object members does not matter. The order of node pools does, because
 * it is part of what the client declared.
 *
 * @param spec complete, after defaults
 * @returns `sha256:` and the hex digest of the canonical JSON (RFC 8785)
 */
export function desiredHashOf(spec: object): string {
  // `canonicalize` returns `undefined` only for values that JSON cannot represent.
  const canonical = canonicalize(spec) as string;
  return `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
}

/** Deletion protection counts while it is set: specifications that were stored without the field keep their hash. */
export function specHashOf({
  deletionProtection,
  ...rest
}: Omit<ClusterSpec, 'deletionProtection'> & Partial<ClusterSpec>): string {
  return desiredHashOf(deletionProtection ? { ...rest, deletionProtection } : rest);
}
