import pg from 'pg';

/**
 * 64-bit numbers arrive as strings from `pg`; all of ours (upstream ids, counts) stay below 2^53 by contract. What does not,
 * such as the bounds of sequences that the schema engine reads, stays a string rather than to become another number.
 */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text));

/** Where a statement can run: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
export type Pool = pg.Pool;

export interface PoolOptions {
  readonly databaseUrl: string;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  readonly connectionsMax?: number;
  /** How long a statement may wait for a free connection before it fails. */
  readonly connectTimeoutMs?: number;
  /** The longest a statement may run on the server. */
  readonly statementTimeoutMs?: number;
  /** The longest a statement may wait for a row that others hold (`isLockTimeout`). Default: as long as it may run. */
  readonly lockTimeoutMs?: number;
  /** Told about connections that broke while idle; the pool replaces them by itself. */
  readonly onIdleError: (error: Error) => void;
}

/** The pool for hot paths and transactions. Connects lazily and recovers by itself when Postgres was away. */
export function connectPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.connectionsMax ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 2_000,
    statement_timeout: options.statementTimeoutMs ?? 5_000,
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
    query_timeout: (options.statementTimeoutMs ?? 5_000) + 1_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    // Statements of one connection are sent without waiting for each other's results: transactions gain most.
    pipeline: true,
  } as pg.PoolConfig);
  pool.on('error', options.onIdleError);
  // Whoever has a connection learns by its statements that it broke. Without a listener of its own the connection would
  // end the whole process, and not everything that borrows one listens all the time (Prisma's adapter does not).
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Runs `work` in one transaction (READ COMMITTED) and hands its value back; rolls back when it throws. A connection
 * that cannot even roll back is thrown away rather than given to the next caller.
 */
export async function inTransaction<T>(pool: Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const noteBroken = (error: Error): void => {
    broken = error;
  };
  client.on('error', noteBroken);
  try {
    // Not waited for: it travels with the first statement of `work`, and fails only where that fails too.
    const begun = client.query('BEGIN');
    const [value] = await Promise.all([work(client), begun]);
    await client.query('COMMIT');
    return value;
  } catch (error) {
    await client.query('ROLLBACK').catch(noteBroken);
    throw error;
  } finally {
    client.off('error', noteBroken);
    client.release(broken);
  }
}
