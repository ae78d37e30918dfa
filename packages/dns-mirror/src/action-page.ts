import type { Pool } from '@corral/database';

export type ActionSortField = 'id' | 'command' | 'status' | 'started' | 'finished';

export interface ActionSortKey {
  readonly by: ActionSortField;
  readonly descending: boolean;
}

/** Whose actions are wanted, and in which order. */
export interface ActionPageLookUp {
  readonly ownerId: string;
  /** The owner's own name, or the one that its token is narrowed to. */
  readonly root: string;
  /** Types of record sets; empty: any. */
  readonly types: readonly string[];
  /** Empty: any. */
  readonly statuses: readonly string[];
  /** What it does not decide is decided by id. */
  readonly sort: readonly ActionSortKey[];
  readonly limit: number;
  /** Counts from 0. */
  readonly offset: number;
}

export interface ActionPage {
  /** On all pages. */
  readonly total: number;
  /** Of this one, as JSON texts with commas between them. */
  readonly bodies: string;
}

/** The log of actions grows for as long as the audit log is kept; a list of it has its bound. */
export const LISTED_ACTIONS_MAX = 10_000;

const columns: Readonly<Record<ActionSortField, string>> = {
  id: 'id',
  command: `body::json ->> 'command'`,
  status: 'status',
  started: 'started_at',
  finished: `body::json ->> 'finished'`,
};

/** One page of the newest actions of an owner. */
export async function pageActions(pool: Pick<Pool, 'query'>, lookUp: ActionPageLookUp): Promise<ActionPage> {
  const { ownerId, root, types, statuses, limit, offset } = lookUp;
  const { rows } = await pool.query<ActionPage>(
    `WITH mine AS MATERIALIZED (
       SELECT action.id, action.status, action.started_at, action.body
       FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
       WHERE coalesce(action.demo_id, action.team_id) = $1
         AND (entry.name = $2 OR right(entry.name, length($2) + 1) = '.' || $2)
         AND (cardinality($3::text[]) = 0 OR entry.type = ANY($3))
         AND (cardinality($4::text[]) = 0 OR action.status = ANY($4))
       ORDER BY action.id DESC LIMIT ${LISTED_ACTIONS_MAX}
     ), page AS (
       SELECT body, row_number() OVER (ORDER BY ${orderOf(lookUp.sort)}) AS place FROM mine
       ORDER BY place LIMIT $5 OFFSET $6
     )
     SELECT (SELECT count(*)::int FROM mine) AS total,
            (SELECT coalesce(string_agg(body, ',' ORDER BY place), '') FROM page) AS bodies`,
    [ownerId, root, types, statuses, limit, offset],
  );
  return rows[0] as ActionPage;
}

function orderOf(sort: readonly ActionSortKey[]): string {
  return [...sort, { by: 'id', descending: false } as const]
    .map(({ by, descending }) => `${columns[by]} ${descending ? 'DESC' : 'ASC'} NULLS LAST`)
    .join(', ');
}
