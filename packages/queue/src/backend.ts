import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '@corral/service';
import {
  Queue as BullQueue,
  Worker as BullWorker,
  createPostgresBackend,
  type JobsOptions,
  type PostgresConnectionOptions,
  type Processor,
  type WorkerOptions,
  withBackend,
} from 'bullmq';
import type { QueueName } from './jobs.js';
import { CONNECT_MS, connectQueuePool } from './postgres-pool.js';
import { prepareQueue } from './prepare-queue.js';

/** The job store. */
export interface BackendOptions {
  /** Redis URL; without one, jobs are stored in Postgres. */
  redisUrl?: string | undefined;
  databaseUrl: string;
}

/** The subset of BullMQ's queue that we use, on either backend. */
export interface Producer {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
  add(name: string, payload: unknown, options: JobsOptions): Promise<{ readonly id?: string | undefined }>;
}

export interface Consumer {
  waitUntilReady(): Promise<unknown>;
  /** Stops fetching jobs; resolves when no job is running. */
  close(): Promise<void>;
}

type OnError = (error: Error) => void;

/** Opens queues for sending and serving. Either throws when the queue in Postgres cannot be prepared. */
export interface Backend {
  /** A connection for sending. Its commands fail fast while the backend is unavailable. */
  openProducer(queue: QueueName, onError: OnError): Promise<Producer>;
  /** Starts a worker that fetches jobs. It waits indefinitely for an unavailable Redis. */
  openWorker(
    queue: QueueName,
    process: Processor,
    settings: Omit<WorkerOptions, 'connection'>,
    onError: OnError,
  ): Promise<Consumer>;
  /** Call it when all queues are closed. */
  close(): Promise<void>;
}

/** Ended jobs are removed: a stored job would block its id, and outcomes are in the log. */
const shared = { defaultJobOptions: { removeOnComplete: true, removeOnFail: true } };

/** @param connectionsMax connections to Postgres, if jobs are stored there */
export function openBackend(options: BackendOptions, connectionsMax: number): Backend {
  const { redisUrl, databaseUrl } = options;
  return redisUrl === undefined ? onPostgres(databaseUrl, connectionsMax) : onRedis(redisUrl);
}

function onRedis(url: string): Backend {
  const connection = {
    url,
    connectTimeout: CONNECT_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, CONNECT_MS),
  };
  const hasty = { enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: CONNECT_MS };
  return {
    async openProducer(queue, onError) {
      return new BullQueue(queue, { ...shared, connection: { ...connection, ...hasty } }).on('error', onError);
    },
    async openWorker(queue, process, settings, onError) {
      const patient = { ...connection, maxRetriesPerRequest: null };
      return new BullWorker(queue, process, { ...settings, connection: patient }).on('error', onError);
    },
    close: async () => undefined,
  };
}

const Postgres = withBackend(createPostgresBackend);

/** A worker fetches at least this often, in s, in case that its listening connection has died silently. */
const POLL_SECONDS = 10;
/** How long a worker fetches nothing after an error, in ms. */
const REST_MS = 500;

function onPostgres(databaseUrl: string, connectionsMax: number): Backend {
  const pool = connectQueuePool(databaseUrl, connectionsMax);
  // BullMQ's description of a pool differs from the types of `pg` in details.
  const connection = pool as unknown as PostgresConnectionOptions;
  let preparing: Promise<void> | null = null;
  let closing: Promise<void> | undefined;
  /** All queues of a process open at the same time, and need the schema once. */
  const prepared = (): Promise<void> => {
    preparing ??= prepareQueue({ databaseUrl }).finally(() => {
      preparing = null;
    });
    return preparing;
  };
  return {
    async openProducer(queue, onError) {
      await prepared();
      return new Postgres.Queue(queue, { ...shared, connection }).on('error', onError);
    },
    async openWorker(queue, process, settings, onError) {
      await prepared();
      const polling = { ...settings, drainDelay: POLL_SECONDS, connection };
      const worker = new Postgres.Worker(queue, process, polling);
      return worker.on('error', (error) => {
        onError(error);
        // BullMQ fetches again at once after most errors of Postgres, a busy loop for as long as an outage lasts.
        void rest(worker);
      });
    },
    close() {
      closing ??= pool.end();
      return closing;
    },
  };
}

async function rest(worker: Pick<BullWorker, 'isPaused' | 'pause' | 'resume' | 'closing'>): Promise<void> {
  if (worker.isPaused()) return;
  await worker.pause(true);
  await pause(REST_MS, undefined, { ref: false });
  if (worker.closing === undefined) await worker.resume();
}

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
