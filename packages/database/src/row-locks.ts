import type { Queryable } from './pool.js';
import type { Transaction } from './prisma.js';

/** From the weakest to the strongest, as Postgres names them. */
export type RowLock = 'KEY SHARE' | 'SHARE' | 'NO KEY UPDATE' | 'UPDATE';

/** What columns of rows have: a value, one of several, or none. */
export type RowCondition = Readonly<
  Record<string, string | number | bigint | Uint8Array<ArrayBuffer> | readonly (string | number)[] | null>
>;

/** The others have an `id`. */
const keys: Readonly<Record<string, string>> = { membership: 'user_id' };

/**
 * Locks rows until the transaction ends, in the order of their ids, which all who lock several of a table follow. What is decided on
 * is read in a statement after it: what a locking statement itself returns may be older than the lock.
 *
 * @param table its name. Like the columns of `where` it is a constant, never a value
 */
export async function lockRows(
  db: Transaction | Queryable,
  table: string,
  where: RowCondition,
  strength: RowLock = 'NO KEY UPDATE',
): Promise<void> {
  const values: unknown[] = [];
  const conditions = Object.entries(where).map(([column, value]) => {
    if (value === null) return `${column} IS NULL`;
    const place = `$${values.push(value)}`;
    return `${column} = ${Array.isArray(value) ? `ANY(${place})` : place}`;
  });
  const key = keys[table] ?? 'id';
  const text = `SELECT ${key} FROM ${table} WHERE ${conditions.join(' AND ')} ORDER BY ${key} FOR ${strength}`;
  if ('$queryRawUnsafe' in db) await db.$queryRawUnsafe(text, ...values);
  else await db.query(text, values);
}
