import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '@corral/service';
import {
  Queue as BullQueue,
  Worker as BullWorker,
  createPostgresBackend,
  type JobsOptions,
  type PostgresPoolConfig,
  type Processor,
  type WorkerOptions,
} from 'bullmq';
import pg from 'pg';
import type { QueueName } from './jobs.js';

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
const SCHEMA = 'bullmq';

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
  const producer = new BullQueue(queue, { ...shared, connection: postgresOptions(options) }, createPostgresBackend);
  producer.on('error', onError);
  return producer;
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
  const worker = new BullWorker(queue, process, { ...settings, connection: postgresOptions(options) }, patientBackend);
  worker.on('error', onError);
  return worker;
}

function redisOptions(url: string) {
  return { url, connectTimeout: CONNECT_MS, retryStrategy: (attempt: number) => Math.min(attempt * 100, CONNECT_MS) };
}

function postgresOptions({ databaseUrl, poolSize = 3 }: BackendOptions): PostgresPoolConfig {
  return {
    connectionString: databaseUrl,
    schema: SCHEMA,
    migrate: true,
    max: poolSize,
    connectionTimeoutMillis: CONNECT_MS,
    // A server that disappeared without closing the connection must not occupy the pool.
    query_timeout: 10_000,
    keepAlive: true,
    application_name: 'corral-queue',
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
 * BullMQ retries at once on Postgres errors other than ECONNREFUSED, a busy loop for the whole outage. This adds a
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
