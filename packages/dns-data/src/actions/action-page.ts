import type { Pool } from '@corral/database';

export type ActionSortField = 'id' | 'command' | 'status' | 'started' | 'finished';

export interface ActionSortKey {
  readonly by: ActionSortField;
  readonly descending: boolean;
}

/** Selects and orders one page of an owner's actions. */
export interface ActionPageLookUp {
  readonly ownerId: string;
  /** The owner's name, or the name that its token is narrowed to. */
  readonly root: string;
  /** Record types; empty for any. */
  readonly types: readonly string[];
  /** Empty: any. */
  readonly statuses: readonly string[];
  /** Ties are broken by id. */
  readonly sort: readonly ActionSortKey[];
  readonly limit: number;
  /** Zero-based. */
  readonly offset: number;
}

export interface ActionPage {
  /** Actions on all pages. */
  readonly total: number;
  /** The actions of this page: JSON texts joined by commas. */
  readonly bodies: string;
}

/** Actions are kept as long as the audit log, so the list is capped. */
export const LISTED_ACTIONS_MAX = 10_000;

const columns: Readonly<Record<ActionSortField, string>> = {
  id: 'id',
  command: `body::json ->> 'command'`,
  status: 'status',
  started: 'started_at',
  finished: `body::json ->> 'finished'`,
};

/** Reads one page of the owner's newest actions. */
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
