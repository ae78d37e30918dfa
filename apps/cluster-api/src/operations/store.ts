import {
  creatorOfOperation,
  includeCreator,
  isOpenIn,
  type OperationRecord,
  type OperationRow,
  operationColumns,
  operationOf,
  selectOf,
} from '@corral/cluster-data';
import {
  type OperationId,
  type OperationKind,
  type OperationState,
  openOperationStates,
  parseId,
  type TeamId,
} from '@corral/contracts';
import { type Prisma, sqlText, type Transaction } from '@corral/database';
import { currentTraceparent } from '@corral/service';
import { type AuditActor, type AuditedChange, auditedAccountOf } from '../audit/record-audit.js';
import { isBehind, newestFirst, type Position } from '../paging.js';
import type { WaitedOperation } from './operation-waits.js';

interface OperationQuery {
  readonly limit: number;
  /** Sort key of the last item of the previous page. */
  readonly after: Position | null;
  /** Name or id of the target. */
  readonly target: string | null;
  /** Any of them; none: all. */
  readonly states: readonly OperationState[];
  readonly kinds: readonly OperationKind[];
  /** Patterns of names of clusters; null for operations of all targets. */
  readonly clusters: readonly string[] | null;
}

/* Operations of a team. They are kept after their targets are deleted. */

export async function findOperation(db: Transaction, teamId: TeamId, id: string): Promise<OperationRecord | null> {
  const row = await db.operation.findUnique({ where: { id, teamId }, include: includeCreator });
  return row && operationOf(row);
}

/** Which of these are not open any more, those that are gone included. */
export async function findEnded(db: Prisma, operations: readonly WaitedOperation[]): Promise<OperationId[]> {
  const rows = await db.operation.findMany({
    where: { id: { in: operations.map(({ id }) => id) }, state: { in: [...openOperationStates] } },
    select: { id: true, teamId: true },
  });
  const open = new Set(rows.map(({ id, teamId }) => `${teamId} ${id}`));
  return operations.filter(({ id, teamId }) => !open.has(`${teamId} ${id}`)).map(({ id }) => id);
}

/** Newest first. */
export async function listOperations(
  db: Prisma,
  teamId: TeamId,
  { limit, after, target, states, kinds, clusters }: OperationQuery,
): Promise<OperationRecord[]> {
  const rows = await db.operation.findMany({
    where: {
      teamId,
      ...(states.length === 0 ? {} : { state: { in: [...states] } }),
      ...(kinds.length === 0 ? {} : { kind: { in: [...kinds] } }),
      AND: [targetIs(target), targetWithin(clusters), ...(after === null ? [] : [isBehind(after)])],
    },
    orderBy: newestFirst,
    take: limit,
    include: includeCreator,
  });
  return rows.map(operationOf);
}

function targetIs(target: string | null) {
  if (target === null) return {};
  const id = parseId(target);
  return { OR: [{ targetName: target }, ...(id === null ? [] : [{ targetId: id }])] };
}

function targetWithin(clusters: readonly string[] | null) {
  if (clusters === null) return {};
  return { targetKind: 'Cluster', OR: clusters.map((pattern) => ({ targetName: nameLike(pattern) })) };
}

/** A pattern has a `*` only at its start and its end. */
function nameLike(pattern: string) {
  const text = pattern.replaceAll('*', '');
  const [openStart, openEnd] = [pattern.startsWith('*'), pattern.endsWith('*')];
  if (openStart && openEnd) return { contains: text };
  if (openStart) return { endsWith: text };
  return openEnd ? { startsWith: text } : { equals: text };
}

interface BegunOperation {
  readonly id: OperationId;
  readonly kind: OperationKind;
  readonly generation: number;
  readonly desiredHash: string;
  /** Nothing is left to do, so the operation succeeds immediately. */
  readonly isDone: boolean;
  /** Ends open operations of the same target. */
  readonly supersedes?: boolean;
  readonly now: Date;
}

/** The columns of an operation, named as in `OperationRow`. */
const shownOfOperation = sqlText(`${selectOf('operation', operationColumns)}, ${creatorOfOperation} AS creator`);

/** Writes the operation of an accepted change and its audit entry in one statement. */
export async function beginOperation(
  tx: Transaction,
  caller: AuditActor,
  { id, kind, generation, desiredHash, isDone, supersedes = false, now }: BegunOperation,
  { action, target, changes = null, detail = {} }: AuditedChange,
): Promise<OperationRecord> {
  const teamId = caller.team.id;
  const [state, progress, finishedAt] = isDone ? (['succeeded', 100, now] as const) : (['queued', 0, null] as const);
  const account = auditedAccountOf(caller);
  const auditDetail = JSON.stringify({ ...detail, operationId: id, generation });
  const auditChanges = changes === null ? null : JSON.stringify(changes);
  const [row] = await tx.$queryRaw<OperationRow[]>`
    WITH superseded AS (
      UPDATE operation SET state = 'superseded', updated_at = ${now}::timestamptz, finished_at = ${now}::timestamptz
      WHERE ${supersedes} AND team_id = ${teamId}::uuid AND target_id = ${target.id}::uuid
        AND ${sqlText(isOpenIn('operation'))}
    ), noted AS (
      INSERT INTO audit_entry (team_id, user_id, action, target_kind, target_id, target_name, request_id, detail,
                               changes, account, created_at)
      VALUES (${teamId}::uuid, ${caller.userId}::uuid, ${action}, ${target.kind}, ${target.id}::uuid, ${target.name},
              ${caller.requestId}, ${auditDetail}::jsonb, ${auditChanges}::jsonb, ${account === null ? null : JSON.stringify(account)}::jsonb,
              ${now}::timestamptz)
    )
    INSERT INTO operation (id, team_id, kind, target_kind, target_id, target_name, generation, state, progress,
                           desired_hash, created_by, traceparent, created_at, updated_at, finished_at)
    VALUES (${id}::uuid, ${teamId}::uuid, ${kind}, ${target.kind}, ${target.id}::uuid, ${target.name}, ${generation}::int,
            ${state}::operation_state, ${progress}::int, ${desiredHash}, ${caller.userId}::uuid, ${currentTraceparent()},
            ${now}::timestamptz, ${now}::timestamptz,
            ${finishedAt}::timestamptz)
    RETURNING ${shownOfOperation}`;
  return operationOf(row as OperationRow);
}
