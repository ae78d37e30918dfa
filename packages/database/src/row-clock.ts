import type { Transaction } from './prisma.js';

/**
 * SQL: the database's clock at the precision of our columns, milliseconds. They round to the nearest one, so what was made
 * due "now" may lie half a millisecond ahead of a finer clock, and whoever looks at once would not find it. Rounded the
 * same way, the clock never lies behind a time that was written before.
 */
export const rowClock = 'clock_timestamp()::timestamptz(3)';

/** The database's clock, for what is written or compared by way of Prisma. */
export async function readClock(db: Pick<Transaction, '$queryRawUnsafe'>): Promise<Date> {
  const [clock] = await db.$queryRawUnsafe<{ now: Date }[]>(`SELECT ${rowClock} AS now`);
  return (clock as { now: Date }).now;
}
