import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma as Generated, PrismaClient } from './generated/client.js';

/**
 * `pg` returns 64-bit integers as strings. Ours (upstream ids, counts) stay below 2^53 by contract. Larger values, such
 * as sequence bounds read by the schema engine, stay strings rather than lose precision.
 */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text));

/** Runs statements: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
export type Pool = pg.Pool;

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly connectionsMax?: number;
  /** Longest wait for a free connection in ms. */
  readonly connectTimeoutMs?: number;
  /** Longest run time of a statement on the server in ms. */
  readonly statementTimeoutMs?: number;
  /** Longest wait for a locked row in ms (`isLockTimeout`). Default: unlimited within the statement timeout. */
  readonly lockTimeoutMs?: number;
  /** Longest pause between two statements of a transaction in ms. */
  readonly idleInTransactionMs?: number;
  /** Whether Postgres refuses every change. Default: no. */
  readonly isReadOnly?: boolean;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onIdleError: (error: Error) => void;
}

/**
 * Creates the pool for hot paths and transactions. Connects lazily and reconnects after outages. Unless it only reads, it has no connection to
 * a server that takes no writes: while there is no other one, statements fail (`isDatabaseAway`).
 */
export function connectPool(options: PoolOptions): Pool {
  const { databaseUrl, applicationName, connectTimeoutMs = 2_000, statementTimeoutMs = 5_000 } = options;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: applicationName,
    max: options.connectionsMax ?? 10,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + 1_000,
    onConnect: prepareSession({
      isReadOnly: options.isReadOnly,
      withinMs: connectTimeoutMs,
      settings: {
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 4_000,
        ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
      },
    }),
    keepAlive: true,
    // A named statement whose result type a migration has changed fails on its connection for as long as that lives.
    maxLifetimeSeconds: 600,
  });
  pool.on('error', options.onIdleError);
  // The borrower of a connection sees the failure in its next statement. Without a listener an error event would end
  // the process, and not every borrower listens all the time (Prisma's adapter does not).
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Runs `work` in one transaction (READ COMMITTED) and returns its value; rolls back when it throws. A connection that
 * fails to roll back is discarded.
 */
export async function inTransaction<T>(pool: Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  return onConnection(pool, async (client, noteBroken) => {
    try {
      await client.query('BEGIN');
      const value = await work(client);
      await commit(client);
      return value;
    } catch (error) {
      await client.query('ROLLBACK').catch(noteBroken);
      throw error;
    }
  });
}

/** Lends a connection to `work`, and discards it if it breaks meanwhile or `work` notes that it has. */
export async function onConnection<T>(
  pool: Pool,
  work: (client: pg.PoolClient, noteBroken: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const noteBroken = (error: Error): void => {
    broken = error;
  };
  client.on('error', noteBroken);
  try {
    return await work(client, noteBroken);
  } finally {
    client.off('error', noteBroken);
    client.release(broken);
  }
}

/** @throws Error if Postgres rolled back, because an earlier statement had failed */
async function commit(client: Queryable): Promise<void> {
  const { command } = await client.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back, because one of its statements failed');
}

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

/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';

/** Settings of one session of `pg`. */
export interface SessionSettings {
  /** Whether Postgres refuses every change. Otherwise the session needs a server that takes writes. */
  readonly isReadOnly?: boolean | undefined;
  /** Names and values of Postgres' settings. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
  /** Longest wait for the answer in ms. */
  readonly withinMs?: number | undefined;
}

/**
 * Prepares a new connection, in one round trip. The settings are a statement and not start-up parameters, most of which a pooler
 * refuses. Every session is in UTC: Prisma's adapter sends and reads times without their zone.
 *
 * @throws Error that counts as `isDatabaseAway` when the server takes no writes: a standby, to which the address leads during a failover
 */
export const prepareSession =
  ({ isReadOnly = false, settings, withinMs }: SessionSettings = {}) =>
  async (client: Pick<pg.ClientBase, 'query'>): Promise<void> => {
    const all = { TimeZone: 'UTC', ...(isReadOnly && { default_transaction_read_only: 'on' }), ...settings };
    const sets = Object.keys(all).map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, false)`);
    const { rows } = await client.query<{ is_read_only: boolean }>({
      text: `SELECT current_setting('transaction_read_only') = 'on' AS is_read_only, ${sets.join(', ')}`,
      values: Object.entries(all).flatMap(([name, value]) => [name, String(value)]),
      ...(withinMs !== undefined && { query_timeout: withinMs }),
    });
    if (!isReadOnly && rows[0]?.is_read_only !== false) throw takesNoWrites();
  };

/** The error of Postgres for a write, before there is one. */
export const takesNoWrites = (): Error =>
  Object.assign(new Error('Postgres takes no writes. The address of the database has to lead to the primary.'), {
    code: READ_ONLY,
    severity: 'FATAL',
  });
