import type { OperationState } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { OperationRecord } from '../domain/cluster-record.js';
import { isId, type Position } from '../domain/position.js';
import { operationOf } from './cluster-rows.js';
import { isBehind, newestFirst } from './newest-first.js';

export interface OperationQuery {
  readonly limit: number;
  /** Sort key of the last one of the page before. */
  readonly after: Position | null;
  /** Name or id. */
  readonly target: string | null;
  readonly state: OperationState | null;
}

export type OperationStore = ReturnType<typeof operationStore>;

/** What was asked for, for ever: operations outlive what they are about. */
export const operationStore = (prisma: Prisma) => ({
  async find(teamId: string, id: string): Promise<OperationRecord | null> {
    const row = await prisma.operation.findUnique({ where: { id, teamId } });
    return row === null ? null : operationOf(row);
  },

  /** Newest first. */
  async list(teamId: string, { limit, after, target, state }: OperationQuery): Promise<OperationRecord[]> {
    const rows = await prisma.operation.findMany({
      where: {
        teamId,
        ...(state === null ? {} : { state }),
        AND: [targetIs(target), ...(after === null ? [] : [isBehind(after)])],
      },
      orderBy: newestFirst,
      take: limit,
    });
    return rows.map(operationOf);
  },
});

function targetIs(target: string | null) {
  if (target === null) return {};
  return { OR: [{ targetName: target }, ...(isId(target) ? [{ targetId: target }] : [])] };
}
