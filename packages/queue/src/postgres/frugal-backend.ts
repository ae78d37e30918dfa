import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type BackendFactory, type PostgresConnectionOptions, PostgresQueueBackend } from 'bullmq';
import { fetchStatements } from './fetch-statements.js';
import type { JobNotices } from './job-notices.js';
import { type PostgresOptions, shareConnection } from './shared-connection.js';

interface Rows {
  readonly rows: Record<string, unknown>[];
}

/** Methods of BullMQ's backend that its types hide. Its version is pinned, and the tests of this package notice a change. */
interface Inside {
  /** Runs a command of BullMQ. */
  run(command: string, parameters: readonly unknown[]): Promise<Rows>;
  query(
    statement: string | { name: string; text: string; values: readonly unknown[] },
    values?: unknown,
  ): Promise<Rows>;
}

/** A worker fetches at least this often, in case that the listening connection has died silently. */
export const POLL_MS = 10_000;
const REFUSED_PAUSE_MS = 500;
/** After this many announced jobs in a row that other processes took, this one lets them try first. */
const MISSES_MAX = 3;
/** The longest time by which it does. */
const LATE_MS_MAX = 64;

/**
 * BullMQ's backend for Postgres with fewer connections and statements: all queues of the process share a pool and a listening
 * connection, a fetch without a result is one statement, and waiting sends none.
 */
export const frugalBackend =
  (options: PostgresOptions): BackendFactory<PostgresQueueBackend, PostgresConnectionOptions> =>
  (queue, settings) => {
    const { connection, notices, hasActive, release } = shareConnection(options);
    const backend = new PostgresQueueBackend(connection, queue, settings, false);
    const onError = (error: Error) => void backend.emit('error', error);
    connection.on('error', onError);
    backend.close = () => {
      connection.off('error', onError);
      backend.closing ??= release();
      return backend.closing;
    };
    backend.disconnect = () => backend.close();
    const moveStalled = backend.moveStalledJobsToWait.bind(backend);
    // Only active jobs can stall. All queues are checked at the same time, mostly without any.
    backend.moveStalledJobsToWait = async () => ((await hasActive(queue)) ? moveStalled() : []);
    prepareStatements(backend as unknown as Inside);
    waitForNotices(backend, queue, notices);
    return backend;
  };

/** Postgres parses and plans each statement once per connection. */
function prepareStatements(inside: Inside): void {
  const query = inside.query.bind(inside);
  const names = new Map<string, string>();
  inside.query = (text, values) => {
    // The columns of a table may change with an upgrade, which a prepared statement does not survive.
    if (typeof text !== 'string' || !Array.isArray(values) || text.includes('SELECT *')) return query(text, values);
    const name = names.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 20);
    names.set(text, name);
    return query({ name, text, values });
  };
}

/**
 * Lets the worker wait without a statement until its queue gets a job, as it knows from its last fetch when the next delayed
 * job is due, and from the announcements whether another job was added since.
 */
function waitForNotices(backend: PostgresQueueBackend, queue: string, notices: JobNotices): void {
  const inside = backend as unknown as Inside;
  const run = inside.run.bind(backend);
  const moveToActive = backend.moveToActive.bind(backend);
  const found = { member: queue, score: 0 };
  /** Of the last fetch without a result. */
  let emptySince: string | null = null;
  let nextDelay: unknown = null;
  let wasAnnounced = false;
  let misses = 0;
  let isInterrupted = false;
  let interrupt = () => {};

  inside.run = async (command, parameters) => {
    if (command === 'next_signal') return { rows: [{ rate_limit_ttl: 0, next_delay: nextDelay }] };
    const statement = fetchStatements[command];
    if (statement === undefined) return run(command, parameters);
    const mark = notices.mark(queue);
    const { rows } = await inside.query(statement, parameters);
    const isEmpty = rows[0]?.id === null;
    misses = isEmpty ? misses + Number(wasAnnounced) : 0;
    wasAnnounced = false;
    if (!isEmpty) return { rows };
    emptySince = mark;
    nextDelay = rows[0]?.next_delay;
    return { rows: [] };
  };
  // BullMQ retries immediately on Postgres errors other than ECONNREFUSED, a busy loop for the whole outage.
  backend.moveToActive = async (...job) => {
    try {
      return await moveToActive(...job);
    } catch (error) {
      await pause(REFUSED_PAUSE_MS);
      throw error;
    }
  };
  backend.waitForJob = async (blockSeconds) => {
    const isOver = () => backend.closing !== undefined || isInterrupted;
    if (isOver()) return null;
    await notices.listen();
    if (isOver()) return null;
    return new Promise((resolve) => {
      const end = (result: typeof found | null) => {
        clearTimeout(timer);
        ignore();
        resolve(result);
      };
      let timer = setTimeout(() => end(null), Math.min(blockSeconds * 1_000, POLL_MS));
      const announced = () => {
        wasAnnounced = true;
        // One fetch is enough for all that is announced until then.
        ignore();
        clearTimeout(timer);
        const ms = lateMs(misses);
        // Timers take a millisecond at least.
        if (ms === 0) setImmediate(() => end(found));
        else timer = setTimeout(() => end(found), ms);
      };
      const ignore = notices.onNotice(queue, announced);
      interrupt = () => end(null);
      if (emptySince === null || notices.mark(queue) !== emptySince) announced();
    });
  };
  backend.disconnectBlocking = async () => {
    isInterrupted = true;
    interrupt();
  };
  backend.reconnectBlocking = async () => {
    isInterrupted = false;
  };
}

/**
 * An announcement wakes every process that waits for the queue, and one gets the job. Those that rarely get one come later, so
 * that a process with free places gets the next job too, instead of all processes asking for each.
 */
function lateMs(misses: number): number {
  if (misses < MISSES_MAX) return 0;
  return Math.min(LATE_MS_MAX, 2 ** (misses - MISSES_MAX + 2)) * (0.5 + Math.random() / 2);
}
