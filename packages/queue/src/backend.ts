import type { Log } from '@corral/service';
import { Queue as BullQueue, Worker as BullWorker, type JobsOptions, type Processor, type WorkerOptions } from 'bullmq';
import type { QueueName } from './jobs.js';
import { frugalBackend, POLL_MS } from './postgres/frugal-backend.js';
import { prepareQueue } from './postgres/prepare-queue.js';
import { CONNECT_MS } from './postgres/shared-connection.js';

/** The job store. */
export interface BackendOptions {
  /** Redis URL; without one, jobs are stored in Postgres. */
  redisUrl?: string | undefined;
  databaseUrl: string;
  /** Postgres connections of all queues of a process together, excluding the one that listens. Default: 4. */
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
    const producer = new BullQueue(queue, { ...shared, connection: {} }, frugalBackend(options));
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
    const patient = { ...settings, drainDelay: POLL_MS / 1_000, connection: {} };
    const worker = new BullWorker(queue, process, patient, frugalBackend(options));
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

function redisOptions(url: string) {
  return { url, connectTimeout: CONNECT_MS, retryStrategy: (attempt: number) => Math.min(attempt * 100, CONNECT_MS) };
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
