import pg from 'pg';
import { prepareSession } from './session-settings.js';

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
