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
    waiting: isOpen({ state }) ? (row.waiting as OperationWaiting | null) : null,
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

/** Operations that are not open have ended. Of those only a failed one changes: to succeeded, when its work is done after all. */
export function isOpen({ state }: Pick<OperationRecord, 'state'>): boolean {
  return openOperationStates.some((open) => open === state);
}

/** The same in SQL. @param table the table's name or its alias */
export const isOpenIn = (table: string): string =>
  `${table}.state IN (${openOperationStates.map((state) => `'${state}'`).join(', ')})`;
