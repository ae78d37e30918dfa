import { type Prisma, readClock, rowClock, sqlText } from '@corral/database';

/** The pauses of a claimed row whose work has failed: from ten seconds to an hour. */
export const retry = { firstMs: 10_000, maxMs: 3_600_000 };

/** The column that holds due times. The texts are SQL of ours. */
interface DueColumn {
  readonly table: string;
  /** The primary key, a uuid. */
  readonly key?: string;
  readonly due: string;
  /** Condition for the rows that are claimed at all. */
  readonly when?: string;
}

/**
 * Claims due rows, those due longest first. They are due again after `retryMs` unless an outcome is recorded. Rows that another process
 * is claiming are skipped.
 *
 * @returns the ends of the claims by the keys of the rows
 */
export async function claimRows(
  prisma: Prisma,
  { table, key = 'id', due, when = 'true' }: DueColumn,
  { limit, retryMs }: { readonly limit: number; readonly retryMs: number },
): Promise<ReadonlyMap<string, Date>> {
  const [rows, id, dueAt] = [sqlText(table), sqlText(key), sqlText(due)];
  // Materialized, because a plan that evaluates it twice would apply the limit to each evaluation.
  const claimed = await prisma.$queryRaw<{ id: string; until: Date }[]>`
    WITH due AS MATERIALIZED (
      SELECT ${id} AS due_id FROM ${rows} WHERE ${dueAt} <= ${sqlText(rowClock)} AND ${sqlText(when)}
      ORDER BY ${dueAt}, ${id} LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE ${rows} SET ${dueAt} = clock_timestamp() + make_interval(secs => ${retryMs}::float8 / 1000)
    FROM due WHERE ${id} = due_id RETURNING ${id} AS id, ${dueAt} AS until`;
  return new Map(claimed.map(({ id, until }) => [id, until]));
}

/** A time by the database's clock. */
export const timeIn = async (prisma: Prisma, ms: number): Promise<Date> =>
  new Date((await readClock(prisma)).getTime() + ms);
