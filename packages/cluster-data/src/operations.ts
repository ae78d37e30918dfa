import {
  asOperationId,
  type OperationError,
  type OperationId,
  type OperationKind,
  type OperationState,
  type OperationWaiting,
  openOperationStates,
} from '@corral/contracts';
import type { Columns } from './columns.js';

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
} as const satisfies Columns<OperationRow>;

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
    waiting: isOpen({ state }) ? (row.waiting as OperationWaiting | null) : null,
    desiredHash: row.desiredHash,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** An operation read by `jsonOf` as part of another row. */
export type OperationJson = Omit<OperationRow, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: string;
  readonly updatedAt: string;
};

export const operationOfJson = (json: OperationJson): OperationRecord =>
  operationOf({ ...json, createdAt: new Date(json.createdAt), updatedAt: new Date(json.updatedAt) });

/** Operations that are not open have ended and never change. */
export function isOpen({ state }: Pick<OperationRecord, 'state'>): boolean {
  return openOperationStates.some((open) => open === state);
}

/** The same in SQL. @param table the table's name or its alias */
export const isOpenIn = (table: string): string =>
  `${table}.state IN (${openOperationStates.map((state) => `'${state}'`).join(', ')})`;
