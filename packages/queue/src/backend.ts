import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '@corral/service';
import {
  assertSchemaCompatibility,
  Queue as BullQueue,
  Worker as BullWorker,
  createPostgresBackend,
  type JobsOptions,
  LATEST_SCHEMA_VERSION,
  type PostgresPoolConfig,
  type Processor,
  runMigrations,
  SchemaMigrationRequiredError,
  type WorkerOptions,
} from 'bullmq';
import pg from 'pg';
import { jobRules, type QueueName } from './jobs.js';

/** The job store. */
export interface BackendOptions {
  /** Redis URL; without one, jobs are stored in Postgres. */
  redisUrl?: string | undefined;
  databaseUrl: string;
  /** Postgres connections per queue and process, excluding a worker's listener. Default: 3. */
  poolSize?: number;
}

/** The subset of BullMQ's queue that we use, on either backend. */
export interface Producer {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
  add(name: string, payload: unknown, options: JobsOptions): Promise<unknown>;
}

interface Consumer {
  waitUntilReady(): Promise<unknown>;
  /** Stops fetching jobs; resolves when no job is running. */
  close(): Promise<void>;
}

const CONNECT_MS = 2_000;
/** Schema of the queue in Postgres. */
export const queueSchema = 'bullmq';

/** Opens a queue for sending. Its commands fail fast while the backend is unavailable. */
export function openProducer(queue: QueueName, options: BackendOptions, onError: (error: Error) => void): Producer {
  // Ended jobs are removed: a stored job would block its id, and outcomes are in the log.
  const shared = { defaultJobOptions: { removeOnComplete: true, removeOnFail: true } };
  if (options.redisUrl !== undefined) {
    const connection = { ...redisOptions(options.redisUrl), enableOfflineQueue: false, maxRetriesPerRequest: 1 };
    const producer = new BullQueue(queue, { ...shared, connection: { ...connection, commandTimeout: CONNECT_MS } });
    producer.on('error', onError);
    return producer;
  }
  const opened = prepared(options).then(() => {
    const producer = new BullQueue(queue, { ...shared, connection: postgresOptions(options) }, createPostgresBackend);
    producer.on('error', onError);
    return producer;
  });
  return {
    ...lazily(opened),
    add: async (name, payload, jobOptions) => (await opened).add(name, payload, jobOptions),
  };
}

/** Starts a worker that fetches jobs. It waits indefinitely for an unavailable backend. */
export function openWorker(
  queue: QueueName,
  process: Processor,
  settings: Omit<WorkerOptions, 'connection'>,
  options: BackendOptions,
  onError: (error: Error) => void,
): Consumer {
  if (options.redisUrl !== undefined) {
    const connection = { ...redisOptions(options.redisUrl), maxRetriesPerRequest: null };
    const worker = new BullWorker(queue, process, { ...settings, connection });
    worker.on('error', onError);
    return worker;
  }
  let isClosed = false;
  const opened = prepared(options).then(() => {
    if (isClosed) throw new Error('The worker was closed before it began.');
    const worker = new BullWorker(
      queue,
      process,
      { ...settings, connection: postgresOptions(options) },
      patientBackend,
    );
    worker.on('error', onError);
    return worker;
  });
  const { waitUntilReady, close } = lazily(opened);
  return {
    waitUntilReady,
    close() {
      isClosed = true;
      return close();
    },
  };
}

/** What can be called before it is open. */
function lazily(opened: Promise<Consumer>): Consumer {
  opened.catch(() => undefined); // reported by `waitUntilReady`
  return {
    waitUntilReady: async () => (await opened).waitUntilReady(),
    async close() {
      const consumer = await opened.catch(() => null);
      await consumer?.close();
    },
  };
}

const preparing = new Map<string, Promise<void>>();

/** All queues of a process open at the same time, and need the schema once. */
function prepared({ databaseUrl }: BackendOptions): Promise<void> {
  const running = preparing.get(databaseUrl);
  if (running !== undefined) return running;
  const begun = prepareQueue({ databaseUrl }).finally(() => preparing.delete(databaseUrl));
  preparing.set(databaseUrl, begun);
  return begun;
}

/**
 * Creates or migrates the schema of the queue in Postgres unless it is up to date, which only the owner of the schema may do. A
 * service whose role is not the owner needs the schema to be there: `admin migrate` prepares it.
 */
export async function prepareQueue({ databaseUrl }: Pick<BackendOptions, 'databaseUrl'>): Promise<void> {
  const client = new ErrorTolerantClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: 10_000,
    application_name: 'corral-queue',
  });
  try {
    await client.connect();
    const version = await assertSchemaCompatibility(client, queueSchema).catch((error: unknown) => {
      if (error instanceof SchemaMigrationRequiredError) return 0;
      throw error;
    });
    if (version < LATEST_SCHEMA_VERSION) await runMigrations(client, queueSchema);
    await createJobNumbers(client);
  } finally {
    await client.end();
  }
}

/** BullMQ creates the sequence of a queue with its first job, which a role without rights on the schema cannot. */
async function createJobNumbers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM (SELECT ${queueSchema}.job_id_seq_name(queue) AS name FROM unnest($1::text[]) AS queue) AS wanted
     WHERE to_regclass('${queueSchema}.' || quote_ident(name)) IS NULL`,
    [[...new Set(Object.values(jobRules).map(({ queue }) => queue))]],
  );
  if (rows.length === 0) return;
  const statements = rows.map(
    ({ name }) => `CREATE SEQUENCE IF NOT EXISTS ${queueSchema}.${pg.escapeIdentifier(name)}`,
  );
  try {
    await client.query(statements.join(';'));
  } catch (error) {
    // Another process creates them at the same time, which `IF NOT EXISTS` does not cover.
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    await createJobNumbers(client);
  }
}

const UNIQUE_VIOLATION = '23505';

function redisOptions(url: string) {
  return { url, connectTimeout: CONNECT_MS, retryStrategy: (attempt: number) => Math.min(attempt * 100, CONNECT_MS) };
}

function postgresOptions({ databaseUrl, poolSize = 3 }: BackendOptions): PostgresPoolConfig {
  return {
    connectionString: databaseUrl,
    schema: queueSchema,
    max: poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    // A server that disappeared without closing the connection must not occupy the pool.
    query_timeout: 10_000,
    keepAlive: true,
    application_name: 'corral-queue',
    // Jobs are hints. One that is lost in a crash of Postgres is found by a sweep, and one that is run again is harmless, so
    // nobody waits for the disk.
    options: '-c synchronous_commit=off',
    Client: ErrorTolerantClient,
  };
}

/**
 * BullMQ and its pool listen for errors of idle connections only. Without a listener, a connection that breaks between
 * two statements of a transaction would end the process.
 */
class ErrorTolerantClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // The next statement on the connection reports the error.
    this.on('error', () => undefined);
  }
}

const REFUSED_PAUSE_MS = 500;

/**
 * BullMQ retries immediately on Postgres errors other than ECONNREFUSED, a busy loop for the whole outage. This adds a
 * pause.
 */
const patientBackend: typeof createPostgresBackend = (...args) => {
  const backend = createPostgresBackend(...args);
  const moveToActive = backend.moveToActive.bind(backend);
  backend.moveToActive = async (...job) => {
    try {
      return await moveToActive(...job);
    } catch (error) {
      await pause(REFUSED_PAUSE_MS);
      throw error;
    }
  };
  return backend;
};

const QUIET_MS = 10_000;

/**
 * Clients report each failed reconnect, several per second and connection. This logs the first, then at most one per
 * ten seconds with the number of suppressed ones.
 */
export function connectionErrorLog(log: Log): (error: unknown) => void {
  let quietUntil = 0;
  let kept = 0;
  return (error) => {
    const now = performance.now();
    if (now < quietUntil) {
      kept += 1;
      return;
    }
    log.warn('queue connection failed', kept > 0 ? { error, similar: kept } : { error });
    quietUntil = now + QUIET_MS;
    kept = 0;
  };
}
