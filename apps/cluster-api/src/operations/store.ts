import { includeCreator, type OperationRecord, operationOf } from '@corral/cluster-data';
import {
  type OperationId,
  type OperationKind,
  type OperationState,
  openOperationStates,
  parseId,
  type TeamId,
} from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';
import { currentTraceparent } from '@corral/service';
import { type AuditActor, type AuditedChange, recordAudit } from '../audit/record-audit.js';
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

/** Finds those of the operations that are not open any more, those that are gone included. */
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

/** Writes the operation of an accepted change and its audit entry. */
export async function beginOperation(
  tx: Transaction,
  caller: AuditActor,
  { isDone, supersedes = false, now, ...begun }: BegunOperation,
  { target, ...change }: AuditedChange,
): Promise<OperationRecord> {
  const teamId = caller.team.id;
  const open = { teamId, targetId: target.id, state: { in: [...openOperationStates] } };
  const end = { state: 'superseded', updatedAt: now, finishedAt: now } as const;
  if (supersedes) await tx.operation.updateMany({ where: open, data: end });
  const { id: operationId, generation } = begun;
  const detail = { ...change.detail, operationId, generation };
  await recordAudit(tx, caller, { ...change, target, detail }, now);
  const data = {
    ...begun,
    ...(isDone ? ({ state: 'succeeded', progress: 100, finishedAt: now } as const) : ({ state: 'queued' } as const)),
    teamId,
    targetKind: target.kind,
    targetId: target.id,
    targetName: target.name,
    createdById: caller.userId,
    traceparent: currentTraceparent(),
    createdAt: now,
    updatedAt: now,
  };
  return operationOf(await tx.operation.create({ data, include: includeCreator }));
}
