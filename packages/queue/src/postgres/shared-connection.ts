import { PostgresConnection } from 'bullmq';
import pg from 'pg';
import { type JobNotices, jobNotices } from './job-notices.js';

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** Connections of all queues of a process together, excluding the one that listens. Default: 4. */
  readonly poolSize?: number;
}

/** The connections of a process to the queues in Postgres. */
export interface SharedConnection {
  readonly connection: PostgresConnection;
  readonly notices: JobNotices;
  /** Whether a job of the queue was active a moment ago. All queues share the answer. */
  hasActive(queue: string): Promise<boolean>;
}

export const CONNECT_MS = 2_000;
/** Schema of the queue in Postgres. */
export const queueSchema = 'bullmq';

interface Kept extends SharedConnection {
  users: number;
}

/** Those in use. Empty when all queues of the process are closed. */
const kept = new Map<string, Kept>();

/**
 * All queues of a process that have the same options, senders and workers, share a pool and one listening connection. Each has
 * its own in BullMQ, of which most are idle, and every session of Postgres plans BullMQ's functions anew.
 */
export function shareConnection(options: PostgresOptions): SharedConnection & { release(): Promise<void> } {
  const key = JSON.stringify([options.databaseUrl, options.poolSize]);
  const shared = kept.get(key) ?? open(options);
  kept.set(key, shared);
  shared.users += 1;
  // BullMQ caches a failed start, so those that come later get another one.
  shared.connection.waitUntilReady().catch(() => forget(key, shared));
  let isReleased = false;
  return {
    ...shared,
    async release() {
      if (isReleased) return;
      isReleased = true;
      shared.users -= 1;
      if (shared.users > 0) return;
      forget(key, shared);
      await shared.connection.close();
    },
  };
}

function forget(key: string, shared: Kept): void {
  if (kept.get(key) === shared) kept.delete(key);
}

function open({ databaseUrl, poolSize = 4 }: PostgresOptions): Kept {
  const connection = new PostgresConnection({
    connectionString: databaseUrl,
    schema: queueSchema,
    max: poolSize,
    // A new session plans BullMQ's functions anew, which takes longer than a job waits.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: CONNECT_MS,
    // A server that disappeared without closing the connection must not occupy the pool.
    query_timeout: 10_000,
    keepAlive: true,
    application_name: 'corral-queue',
    // Jobs are hints. One that is lost in a crash of Postgres is found by a sweep, and one that is run again is harmless, so
    // nobody waits for the disk.
    options: '-c synchronous_commit=off',
    Client: ErrorTolerantClient,
  });
  // As many as there are queues.
  connection.setMaxListeners(0);
  (connection as unknown as Inside).pgModule = { Client: ListeningClient };
  return { connection, notices: jobNotices(connection), hasActive: activeQueues(connection), users: 0 };
}

/** Property of BullMQ's connection that its types hide: where it takes the client from that listens. */
interface Inside {
  pgModule: { readonly Client: typeof pg.Client };
}

const ACTIVE_MS = 500;

function activeQueues(connection: PostgresConnection): SharedConnection['hasActive'] {
  let asked = { at: Number.NEGATIVE_INFINITY, answer: Promise.resolve(new Set<string>()) };
  const ask = async () => {
    if (connection.isClosing) return new Set<string>();
    const { rows } = await connection.pool.query<{ queue: string }>(
      `SELECT DISTINCT queue FROM job WHERE state = 'active'`,
    );
    return new Set(rows.map(({ queue }) => queue));
  };
  return async (queue) => {
    if (performance.now() - asked.at > ACTIVE_MS) asked = { at: performance.now(), answer: ask() };
    return (await asked.answer).has(queue);
  };
}

/**
 * BullMQ and its pool listen for errors of idle connections only. Without a listener, a connection that breaks between
 * two statements of a transaction would end the process.
 */
export class ErrorTolerantClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // The next statement on the connection reports the error.
    this.on('error', () => undefined);
  }
}

/**
 * BullMQ listens for errors of this connection only once it has connected, and keeps it until it hears of one. A server that ends
 * just then says so along with its answer, which would end the process, or leave a connection that is never replaced.
 */
class ListeningClient extends ErrorTolerantClient {
  override connect = (async () => {
    let broken: Error | undefined;
    this.once('error', (error) => {
      broken = error;
    });
    await super.connect();
    if (broken !== undefined) throw broken;
    return this;
  }) as pg.Client['connect'];

  /** BullMQ removes all before it ends the connection, which may break meanwhile. */
  override removeAllListeners(...event: [(string | symbol)?]): this {
    super.removeAllListeners(...event);
    if (this.listenerCount('error') === 0) this.on('error', () => undefined);
    return this;
  }
}
