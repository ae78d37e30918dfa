import { setTimeout as pause } from 'node:timers/promises';
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

/** Where jobs wait. */
export interface BackendOptions {
  /** Redis carries the jobs when this is given, else Postgres does. */
  redisUrl?: string | undefined;
  databaseUrl: string;
  /** Postgres connections for each queue of a process, one listener of a worker not counted. Default: 3. */
  poolSize?: number;
}

/** What we use of BullMQ's objects, whichever backend they stand on. */
export interface Producer {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
  add(name: string, payload: unknown, options: JobsOptions): Promise<unknown>;
}

export interface Consumer {
  waitUntilReady(): Promise<unknown>;
  /** Fetches no more jobs; resolves when none runs. */
  close(): Promise<void>;
}

const CONNECT_MS = 2_000;
const SCHEMA = 'bullmq';

/** A queue to put jobs into. Its commands fail at once while the backend is away. */
export function openProducer(queue: QueueName, options: BackendOptions, onError: (error: Error) => void): Producer {
  // Jobs leave the store when they end: a kept one would make its id unusable, and the log tells what happened.
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

/** A worker that is fetching jobs. It waits for a backend that is away, without end. */
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
    // A server that vanished without a word must give its place in the pool back.
    query_timeout: 10_000,
    keepAlive: true,
    application_name: 'corral-queue',
    Client: HeardClient,
  };
}

/**
 * BullMQ and its pool listen to idle connections only. One that breaks while it is in use, between two statements of a
 * transaction, would end the process.
 */
class HeardClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // The statement that meets the broken connection reports it.
    this.on('error', () => undefined);
  }
}

const REFUSED_PAUSE_MS = 500;

/** BullMQ asks again at once when Postgres fails in any way but ECONNREFUSED, a busy loop for as long as it is away. */
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
