import type { OperationKind } from '@corral/contracts';
import type { OperationRecord } from '../domain/cluster-record.js';
import type { AuditActor, AuditedChange } from './audit.js';
import { type OperationRow, operationOf } from './cluster-rows.js';
import type { Transaction } from './team-changes.js';

export interface BegunOperation {
  readonly id: string;
  readonly kind: OperationKind;
  readonly generation: number;
  readonly desiredHash: string;
  /** There is nothing left to do. */
  readonly isDone: boolean;
  /** Ends operations of the same target that are still open. */
  readonly supersedes?: boolean;
  readonly now: Date;
}

/** Writes what an accepted change becomes, and who asked for it, in one statement. */
export async function beginOperation(
  tx: Transaction,
  caller: AuditActor,
  { id, kind, generation, desiredHash, isDone, supersedes = false, now }: BegunOperation,
  { action, target, detail = {} }: AuditedChange,
): Promise<OperationRecord> {
  const teamId = caller.team.id;
  const [state, progress, finishedAt] = isDone ? (['succeeded', 100, now] as const) : (['queued', 0, null] as const);
  const told = JSON.stringify({ ...detail, operationId: id, generation });
  const [row] = await tx.$queryRaw<OperationRow[]>`
    WITH superseded AS (
      UPDATE operation SET state = 'superseded', updated_at = ${now}::timestamptz, finished_at = ${now}::timestamptz
      WHERE ${supersedes} AND team_id = ${teamId}::uuid AND target_id = ${target.id}::uuid AND state IN ('queued', 'running')
    ), begun AS (
      INSERT INTO operation (id, team_id, kind, target_kind, target_id, target_name, generation, state, progress,
                             desired_hash, created_at, updated_at, finished_at)
      VALUES (${id}::uuid, ${teamId}::uuid, ${kind}, ${target.kind}, ${target.id}::uuid, ${target.name}, ${generation}::int,
              ${state}::operation_state, ${progress}::int, ${desiredHash}, ${now}::timestamptz, ${now}::timestamptz,
              ${finishedAt}::timestamptz)
      RETURNING *
    ), noted AS (
      INSERT INTO audit_entry (team_id, user_id, action, target_kind, target_id, target_name, request_id, detail,
                               created_at)
      VALUES (${teamId}::uuid, ${caller.userId}::uuid, ${action}, ${target.kind}, ${target.id}::uuid, ${target.name},
              ${caller.requestId}, ${told}::jsonb, ${now}::timestamptz)
    )
    SELECT id, kind, target_kind AS "targetKind", target_id AS "targetId", target_name AS "targetName", generation,
           state::text AS state, progress, error, waiting, desired_hash AS "desiredHash", created_at AS "createdAt",
           updated_at AS "updatedAt"
    FROM begun`;
  return operationOf(row as OperationRow);
}
