import type { TeamId } from '@corral/contracts';
import type { Queryable, Transaction } from './connect.js';

/** Locks from the weakest to the strongest, as Postgres names them. */
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

/*
 * A team has two locks, so that a burst of cluster changes does not delay DNS writes, nor the reverse. A transaction that
 * takes both takes the change lock first.
 *
 * - The row of `team_change_lock` orders changes of clusters, connections, servers, members and tokens.
 * - The row of `team` orders what counts against its quota of DNS: writes and demos (`lockOwner` of `@corral/dns-data`).
 */

// In this form the clock is read once the row is locked, however an earlier change ended. Missing lock rows are
// inserted.
const lockTeams = `
  INSERT INTO team_change_lock AS held (team_id, changed_at)
  SELECT id, clock_timestamp() FROM team WHERE id = ANY($1::uuid[]) ORDER BY id
  ON CONFLICT (team_id) DO UPDATE SET changed_at = clock_timestamp()
  RETURNING changed_at AS now`;

/**
 * Locks a team against other changes until the transaction ends. Take it before any other lock; the order of the others
 * is in `@corral/cluster-data` (`locks.ts`).
 *
 * @returns the database's clock, read under the lock
 * @throws Error when the team does not exist
 */
export async function lockTeamChanges(tx: Transaction, teamId: TeamId): Promise<Date> {
  const [lock] = await tx.$queryRawUnsafe<{ now: Date }[]>(lockTeams, [teamId]);
  if (lock === undefined) throw new Error('The team is gone');
  return lock.now;
}

/** Locks several teams in order of id. Missing teams are skipped. */
export async function lockChangesOfTeams(tx: Transaction, teamIds: readonly TeamId[]): Promise<void> {
  await tx.$queryRawUnsafe(lockTeams, teamIds);
}
