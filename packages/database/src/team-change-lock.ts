import type { Transaction } from './prisma.js';

type Db = Pick<Transaction, '$queryRawUnsafe'>;

// In this form the clock is read once the row is held, whoever held it before and however that ended. A lock that is
// missing is made.
const lockTeams = `
  INSERT INTO team_change_lock AS held (team_id, changed_at)
  SELECT id, clock_timestamp() FROM team WHERE id = ANY($1::uuid[]) ORDER BY id
  ON CONFLICT (team_id) DO UPDATE SET changed_at = clock_timestamp()
  RETURNING changed_at AS now`;

/**
 * Holds the changes of a team until the transaction ends. It comes before anything else that a change takes: after it
 * come clusters, connections with their price lists, and servers, in this order and each kind by its ids. Two that wait
 * for each other would wait for ever.
 *
 * @returns the database's clock, read under the lock
 * @throws Error when there is no such team
 */
export async function lockTeamChanges(tx: Db, teamId: string): Promise<Date> {
  const [lock] = await tx.$queryRawUnsafe<{ now: Date }[]>(lockTeams, [teamId]);
  if (lock === undefined) throw new Error('The team is gone');
  return lock.now;
}

/** The same for several teams, in the order in which everybody takes them. Teams that are gone are passed over. */
export async function lockChangesOfTeams(tx: Db, teamIds: readonly string[]): Promise<void> {
  await tx.$queryRawUnsafe(lockTeams, teamIds);
}
