import type { Transaction } from '@corral/database';

export type { Transaction };

/** Many who change things of one team wait for each other: longer than that, and something is wrong. */
export const patience = { maxWait: 5_000, timeout: 10_000 };

/**
 * Holds the team until the transaction ends. It comes before anything else, as every change of a team begins: two that wait
 * for each other would wait for ever.
 *
 * @returns the database's clock, read under the lock
 */
export async function lockTeam(tx: Transaction, teamId: string): Promise<Date> {
  await tx.$queryRaw`SELECT id FROM team WHERE id = ${teamId}::uuid FOR NO KEY UPDATE`;
  const [clock] = await tx.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  return (clock as { now: Date }).now;
}
