import { prepareSession } from '@corral/database';
import pg from 'pg';

export const CONNECT_MS = 2_000;
/** Schema of the queue in Postgres: BullMQ's default, which it expects of a pool that it is given. */
export const queueSchema = 'bullmq';

/**
 * Jobs are hints. One that is lost in a crash of Postgres is found by a sweep, and one that is run again is harmless, so nobody waits for
 * the disk.
 */
const settings = { search_path: queueSchema, synchronous_commit: 'off' };

/**
 * The connections of BullMQ to Postgres. Each queue that is served takes one of them, to listen.
 *
 * @param max the maximum number of connections
 */
export function connectQueuePool(databaseUrl: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max,
    connectionTimeoutMillis: CONNECT_MS,
    // A server that disappeared without closing the connection must not occupy the pool.
    query_timeout: 10_000,
    keepAlive: true,
    application_name: 'corral-queue',
    onConnect: prepareSession({ settings, withinMs: CONNECT_MS }),
  });
  // BullMQ listens for errors of a connection only once it has it. Without a listener, an earlier error would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  // Queues report errors of idle connections, but a pool may have none.
  pool.on('error', () => undefined);
  return pool;
}
