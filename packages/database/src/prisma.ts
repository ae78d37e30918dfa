import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma as Generated, PrismaClient } from './generated/client.js';
import type { Pool } from './pool.js';
import { prepareSession } from './session-settings.js';

export type Prisma = PrismaClient;
/** Writes SQL NULL into a JSON column, where `null` would be ambiguous. */
export const noJson = Generated.DbNull;
/** A statement fragment with its values, for `$queryRaw`. */
export const sql = Generated.sql;
export type Sql = Generated.Sql;
/** A constant statement fragment, such as column names or an expression. Not escaped: never pass input. */
export const sqlText = Generated.raw;
/** Prisma inside a transaction. */
export type Transaction = Parameters<Parameters<Prisma['$transaction']>[0]>[0];

/** Longest wait for a transaction to begin, and longest duration, in ms. */
interface TransactionBounds {
  readonly maxWait: number;
  readonly timeout: number;
}

/** Prisma's own end before a single wait for a lock, which may take as long as a statement (`connectPool`). */
const patience: TransactionBounds = { maxWait: 5_000, timeout: 15_000 };

/** A connection keeps what it has prepared, so that texts which vary with their input must not fill it. */
const NAMED_MAX = 500;
const names = new Map<string, string>();

/**
 * Names a statement by its text, so that Postgres plans it once per connection: planning takes longer than most of ours run.
 *
 * @returns an empty name, which Postgres forgets, when too many others have names
 */
function nameOf({ sql }: { readonly sql: string }): string {
  const known = names.get(sql);
  if (known !== undefined) return known;
  if (names.size >= NAMED_MAX) return '';
  const name = `prisma-${names.size}`;
  names.set(sql, name);
  return name;
}

/**
 * Prisma on the `pg` driver, for everything off the hot paths. Connects on first use; close with `$disconnect()`.
 *
 * @param database a URL, or a pool to share, which is left open and whose timeouts apply
 * @param transactions default bounds of transactions; without them 5 s and 15 s
 */
export function connectPrisma(database: string | Pool, transactions?: TransactionBounds): Prisma {
  return typeof database === 'string'
    ? prismaOfItsOwn(database, false, transactions)
    : prismaOn(database, false, transactions);
}

/** Connects as `connectPrisma` does, but Postgres refuses every change. */
export const connectReadingPrisma = (databaseUrl: string): Prisma => prismaOfItsOwn(databaseUrl, true);

const prismaOfItsOwn = (databaseUrl: string, isReadOnly: boolean, transactions?: TransactionBounds): Prisma => {
  const pool = new pg.Pool({ connectionString: databaseUrl, onConnect: prepareSession({ isReadOnly }) });
  // A broken connection shows in its next statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  return prismaOn(pool, true, transactions);
};

const prismaOn = (pool: Pool, isItsOwn: boolean, transactions = patience): Prisma =>
  new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: nameOf, disposeExternalPool: isItsOwn }),
    transactionOptions: transactions,
  });

/**
 * SQL for the database's clock at the precision of our columns, milliseconds. Columns round to nearest, so a time
 * stored as due "now" may be half a millisecond ahead of the unrounded clock and would not be found immediately. Rounded
 * alike, the clock is never behind a stored time.
 */
export const rowClock = 'clock_timestamp()::timestamptz(3)';

/** The database's clock, for values that are written or compared through Prisma. */
export async function readClock(db: Transaction): Promise<Date> {
  const [clock] = await db.$queryRawUnsafe<{ now: Date }[]>(`SELECT ${rowClock} AS now`);
  return (clock as { now: Date }).now;
}
