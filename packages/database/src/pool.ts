import pg from 'pg';
import { PreparingClient } from './prepared-statements.js';

/**
 * `pg` returns 64-bit integers as strings. Ours (upstream ids, counts) stay below 2^53 by contract. Larger values, such
 * as sequence bounds read by the schema engine, stay strings rather than lose precision.
 */
const INT8_OID = 20;
pg.types.setTypeParser(INT8_OID, (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text));

/** Runs statements: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;
export type QueryConfig = pg.QueryConfig;
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
  /**
   * Whether Postgres plans a prepared statement once for any values, even if it estimates that a plan for the given ones is cheaper, as it
   * does for all of a session once it has. For statements that find their rows by keys. Default: no.
   */
  readonly plansOnce?: boolean;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onIdleError: (error: Error) => void;
}

/** Sent when a connection begins: transactions that do not say otherwise change nothing. */
export const readOnlyOption = '-c default_transaction_read_only=on';

/** How long a connection is kept that nobody uses. */
const IDLE_MS = 300_000;

/** Creates the pool for hot paths and transactions. Connects lazily and reconnects after outages. */
export function connectPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    Client: PreparingClient,
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.connectionsMax ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 2_000,
    statement_timeout: options.statementTimeoutMs ?? 5_000,
    ...(options.lockTimeoutMs !== undefined && { lock_timeout: options.lockTimeoutMs }),
    query_timeout: (options.statementTimeoutMs ?? 5_000) + 1_000,
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 10_000,
    ...(options.isReadOnly === true && { options: readOnlyOption }),
    // A new session plans each frequent statement up to six times, which takes longer than to execute it.
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    // Sends statements of one connection without waiting for earlier results. Transactions benefit most.
    pipeline: true,
  } as pg.PoolConfig);
  pool.on('error', options.onIdleError);
  // The borrower of a connection sees the failure in its next statement. Without a listener an error event would end
  // the process, and not every borrower listens all the time (Prisma's adapter does not).
  pool.on('connect', (client) => client.on('error', () => undefined));
  // Not as an option of the connection, which poolers refuse. Sent along with the first statement, which fails with it.
  if (options.plansOnce === true) {
    pool.on('connect', (client) => {
      client.query('SET plan_cache_mode = force_generic_plan').catch(() => undefined);
    });
  }
  return pool;
}

/**
 * Sends COMMIT along with the last statements of a transaction, without waiting for their results. If one of them fails, Postgres
 * rolls back instead.
 *
 * @param last the results of statements that were sent before. Nothing may be sent afterwards
 * @returns these results, once they are committed
 * @throws the error of a failed statement
 */
export type CommitWith = <T>(last: Promise<T>) => Promise<T>;

/**
 * Runs `work` in one transaction (READ COMMITTED) and returns its value; rolls back when it throws. A connection that
 * fails to roll back is discarded.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Queryable, commitWith: CommitWith) => Promise<T>,
): Promise<T> {
  return onConnection(pool, async (client, noteBroken) => {
    const batches = client instanceof PreparingClient ? (client as PreparingClient) : null;
    batches?.beginBatches();
    let committed: Promise<void> | undefined;
    const commitWith: CommitWith = async (last) => {
      committed = commit(client);
      const [value] = await inOrder([last, committed]);
      return value;
    };
    try {
      // Not awaited: it is sent along with the first statement of `work`, and fails only if that fails too.
      const begun = client.query('BEGIN');
      const [value] = await Promise.all([work(client, commitWith), begun]);
      await (committed ?? commit(client));
      return value;
    } catch (error) {
      await client.query('ROLLBACK').catch(noteBroken);
      throw error;
    } finally {
      batches?.endBatches();
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

/**
 * Runs statements in one transaction and one round trip, without BEGIN and COMMIT: Postgres commits what is sent together once it is
 * asked for an answer. Each takes a snapshot of its own, so it sees what was committed before an earlier one got its lock.
 *
 * @throws the error of the first that failed; nothing was changed then
 */
export async function inOneTrip<T extends readonly pg.QueryResultRow[]>(
  pool: Pool,
  statements: { readonly [I in keyof T]: pg.QueryConfig },
): Promise<{ -readonly [I in keyof T]: pg.QueryResult<T[I] & pg.QueryResultRow> }> {
  return onConnection(pool, async (client) => {
    const batches = client as pg.PoolClient & PreparingClient;
    batches.beginBatches();
    const sent = statements.map((statement) => client.query(statement) as Promise<pg.QueryResult>);
    batches.endBatches();
    return (await inOrder(sent)) as never;
  });
}

/**
 * Waits for statements of a transaction that were sent together.
 *
 * @throws the error of the first that failed. Postgres refuses those after it only because of that one
 */
export async function inOrder<T extends readonly unknown[] | []>(
  sent: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  const ended = await Promise.allSettled(sent);
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  return ended.map((each) => (each as PromiseFulfilledResult<unknown>).value) as {
    -readonly [I in keyof T]: Awaited<T[I]>;
  };
}

/** @throws Error if Postgres rolled back, because an earlier statement had failed */
async function commit(client: Queryable): Promise<void> {
  const { command } = await client.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('The transaction was rolled back, because one of its statements failed');
}
