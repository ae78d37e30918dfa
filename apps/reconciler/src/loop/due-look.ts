import { type Pool, rowClock, statementClock } from '@corral/database';
import { isFree, type LeasedId, type LeasedTable } from './leases.js';

/** What a process sees of the work of all, by Postgres' clock. */
export interface DueLook {
  /** Some process has the task. */
  readonly isWatched: boolean;
  /** The number of rows that are due and have no pass, up to the limit. */
  readonly due: number;
  /** The one of them that is due longest. */
  readonly oldest: { readonly id: string; readonly dueAt: string; readonly forMs: number } | null;
}

interface LookRow {
  readonly is_watched: boolean;
  readonly due: number;
  readonly id: string | null;
  readonly due_at: string | null;
  readonly for_ms: number | null;
}

/** Looks at what is due. Reads nothing else than the leadership if nothing is. */
export const dueLook =
  <Id extends LeasedId>(pool: Pick<Pool, 'query'>, { table, isWorkedOn }: LeasedTable<Id>) =>
  async ({ task, limit }: { task: string; limit: number }): Promise<DueLook> => {
    const { rows } = await pool.query<LookRow>(
      `SELECT EXISTS (SELECT FROM leadership WHERE name = $1 AND until > ${rowClock}) AS is_watched,
              count(*)::int AS due, (array_agg(id ORDER BY due_at, id))[1] AS id, min(due_at)::text AS due_at,
              (extract(epoch FROM clock_timestamp() - min(due_at)) * 1000)::float8 AS for_ms
       FROM (SELECT id, due_at FROM ${table}
             WHERE due_at <= ${statementClock} AND ${isFree} AND ${isWorkedOn}
             ORDER BY due_at, id LIMIT $2) AS due`,
      [task, limit],
    );
    const [{ is_watched, due, id, due_at, for_ms }] = rows as [LookRow];
    const oldest = id === null || due_at === null || for_ms === null ? null : { id, dueAt: due_at, forMs: for_ms };
    return { isWatched: is_watched, due, oldest };
  };
