import type { Log } from '@corral/service';
import type { JobsOptions } from 'bullmq';
import { type BackendOptions, openProducer, type Producer } from './backend.js';
import { connectionErrorLog } from './connection-log.js';
import { answerWithin } from './deadline.js';
import { type JobName, type JobPayloads, type JobRule, jobRules, type QueueName } from './jobs.js';

export interface QueueOptions extends BackendOptions {
  log: Log;
}

export interface SendOptions {
  /**
   * Jobs of one name and id coalesce: while one waits, another adds nothing; while one runs, one more run follows it,
   * so that no wake-up is lost to a run that has already read what it works on. Default: nothing coalesces.
   */
  jobId?: string;
  /** Default: 0. A job without delay takes the place of a delayed one with its id. */
  delayMs?: number;
  /** What a job with delay does to one that waits delayed with its id. Default: `keep`, and add nothing. */
  delayed?: 'keep' | 'replace';
}

/** The end of the queue where jobs go in. */
export interface Queue {
  /** @throws QueueUnavailable within about two seconds when the job was not taken */
  send<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<void>;
  /** As `send`, but a failure is only logged: for hints whose work a sweep finds anyway. Never rejects. */
  nudge<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<void>;
  /**
   * Sends the job now and every `everyMs`; among all processes that do so, one job goes through per interval. Runs
   * until `close`.
   */
  schedule<N extends JobName>(name: N, payload: JobPayloads[N], everyMs: number): void;
  /** Resolves while the backend takes jobs: for readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The backend did not take a job. Nothing is known to be lost: the job may even have arrived. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
}

const SEND_MS_MAX = 2_000;
const SCHEDULE_RETRY_MS = 5_000;
const CLOSE_MS_MAX = 2_000;
const LATE = Symbol('late');

/** Does not wait for the backend: the first job does, and each later one if need be. */
export function connectQueue({ log, ...backend }: QueueOptions): Queue {
  const producers = new Map<QueueName, Promise<Producer>>();
  const timers = new Set<NodeJS.Timeout>();
  const reportError = connectionErrorLog(log);
  let closed = false;

  const open = async (name: QueueName): Promise<Producer> => {
    const producer = openProducer(name, backend, reportError);
    try {
      await producer.waitUntilReady();
    } catch (error) {
      // BullMQ remembers a failed start on Postgres for good, so the next job starts anew.
      producers.delete(name);
      await producer.close().catch(() => undefined);
      throw error;
    }
    return producer;
  };
  const readyProducer = (name: QueueName): Promise<Producer> => {
    const known = producers.get(name) ?? open(name);
    producers.set(name, known);
    return known;
  };

  const add = async (name: JobName, payload: unknown, options: JobsOptions): Promise<void> => {
    if (closed) throw new QueueUnavailable(`The job ${name} was not taken: this process is closing its queue.`);
    const rule: JobRule = jobRules[name];
    const endsAt = performance.now() + SEND_MS_MAX;
    try {
      // Two waits, so that no job is added behind the back of one who was told that it is not.
      const producer = await answerWithin(readyProducer(rule.queue), SEND_MS_MAX, LATE);
      if (producer === LATE) throw new Error(`no connection within ${SEND_MS_MAX} ms`);
      const added = producer.add(name, payload, { ...retriesOf(rule), ...options });
      if ((await answerWithin(added, endsAt - performance.now(), LATE)) === LATE) {
        throw new Error(`no answer within ${SEND_MS_MAX} ms`);
      }
    } catch (cause) {
      throw new QueueUnavailable(`The job ${name} was not taken. Check ${storeName(backend)}.`, { cause });
    }
  };

  const send: Queue['send'] = (name, payload, options = {}) => add(name, payload, coalescing(name, options));
  const nudge: Queue['nudge'] = async (name, payload, options) => {
    try {
      await send(name, payload, options);
    } catch (error) {
      log.warn('wake-up not sent', { job: name, error });
    }
  };

  const schedule: Queue['schedule'] = (name, payload, everyMs) => {
    const tick = async (): Promise<void> => {
      let waitMs = everyMs;
      try {
        await add(name, payload, oncePerInterval(name, everyMs));
      } catch (error) {
        if (!closed) log.warn('scheduled job not sent', { job: name, error });
        waitMs = Math.min(everyMs, SCHEDULE_RETRY_MS);
      }
      if (closed) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        void tick();
      }, waitMs);
      timers.add(timer);
    };
    void tick();
  };

  return {
    send,
    nudge,
    schedule,
    async ping() {
      // A process that only ever sends jobs of one queue need not connect for the others.
      const names = producers.size > 0 ? [...producers.keys()] : [jobRules['settle-writes'].queue];
      for (const name of names) {
        const producer = await answerWithin(readyProducer(name), SEND_MS_MAX, LATE);
        if (producer === LATE) throw new QueueUnavailable(`${storeName(backend)} does not answer.`);
      }
    },
    async close() {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all([...producers.values()].map((opening) => answerWithin(closeOnce(opening), CLOSE_MS_MAX, LATE)));
    },
  };
}

async function closeOnce(opening: Promise<Producer>): Promise<void> {
  const producer = await opening.catch(() => undefined);
  await producer?.close();
}

const storeName = ({ redisUrl }: BackendOptions): string => (redisUrl === undefined ? 'Postgres' : 'Redis');

function retriesOf({ attempts, backoffMs }: JobRule): JobsOptions {
  return attempts === 1 ? { attempts } : { attempts, backoff: { type: 'exponential', delay: backoffMs, jitter: 0.5 } };
}

function coalescing(name: JobName, { jobId, delayMs = 0, delayed = 'keep' }: SendOptions): JobsOptions {
  const delay = delayMs > 0 ? { delay: delayMs } : {};
  if (jobId === undefined) return delay;
  // Not BullMQ's own jobId: that one would also swallow what is sent while the job runs.
  const deduplication = { id: `${name}/${jobId}`, keepLastIfActive: true };
  const replaces = delayMs === 0 || delayed === 'replace';
  return { ...delay, deduplication: replaces ? { ...deduplication, replace: true } : deduplication };
}

/**
 * The time to live keeps other processes quiet for the interval, even after the job is done; it is a little shorter so
 * that the next tick of the same process is not taken for one of them. The id keeps jobs from piling up while no
 * worker runs.
 */
function oncePerInterval(name: JobName, everyMs: number): JobsOptions {
  const id = `schedule-${name}`;
  return { jobId: id, deduplication: { id, ttl: Math.max(1, Math.floor(everyMs * 0.9)) } };
}
