import type { Log } from '@corral/service';
import { answerWithin } from '@corral/wire';
import type { JobsOptions } from 'bullmq';
import { type BackendOptions, connectionErrorLog, openBackend, type Producer } from './backend.js';
import { type JobName, type JobPayloads, type JobRule, jobRules, type QueueName } from './jobs.js';

export interface QueueOptions extends BackendOptions {
  log: Log;
}

export interface SendOptions {
  /**
   * Coalesces jobs of the same name and id: while one waits, another adds nothing; while one runs, one more run
   * follows, so that no wake-up is lost to a run that has already read its data. Default: no coalescing.
   */
  jobId?: string;
  /** Delay in ms. Default: 0. A job without delay replaces a delayed one with the same id. */
  delayMs?: number;
  /** Whether a delayed job replaces a delayed one with the same id. Default: `keep`. */
  delayed?: 'keep' | 'replace';
}

/** The sending side of the queue. */
export interface Queue {
  /** @throws QueueUnavailable within about two seconds when the job was not accepted */
  send<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<void>;
  /** Like `send`, but a failure is only logged: for hints whose work a sweep finds anyway. Never rejects. */
  nudge<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<void>;
  /**
   * Sends the jobs now and every `everyMs`, until `close`. With several processes, one job of each name is sent per interval in
   * total.
   */
  schedule(jobs: Partial<JobPayloads>, everyMs: number): void;
  /** Resolves when the backend accepts jobs. For readiness checks. */
  ping(): Promise<void>;
  /** Waits for jobs that are being sent. */
  close(): Promise<void>;
}

/** The backend did not confirm a job in time. The job may still have arrived. */
export class QueueUnavailable extends Error {
  override readonly name = 'QueueUnavailable';
}

const SEND_MS_MAX = 2_000;
const SCHEDULE_RETRY_MS = 5_000;
const CLOSE_MS_MAX = 2_000;
/** The share of an interval for which one scheduled job suppresses those of other processes. */
const SUPPRESSED_SHARE = 0.9;
const LATE = Symbol('late');

/** Of all jobs that a process sends. */
const CONNECTIONS_MAX = 2;

/** Connects on the first job, and reconnects when needed. */
export function connectQueue({ log, ...options }: QueueOptions): Queue {
  const backend = openBackend(options, CONNECTIONS_MAX);
  const producers = new Map<QueueName, Promise<Producer>>();
  const timers = new Set<NodeJS.Timeout>();
  const sending = new Set<Promise<void>>();
  const reportError = connectionErrorLog(log);
  let closed = false;

  const open = async (name: QueueName): Promise<Producer> => {
    let producer: Producer | undefined;
    try {
      producer = await backend.openProducer(name, reportError);
      await producer.waitUntilReady();
      return producer;
    } catch (error) {
      // BullMQ caches a failed start on Postgres, so the next job opens a new producer.
      producers.delete(name);
      await producer?.close().catch(() => undefined);
      throw error;
    }
  };
  const readyProducer = (name: QueueName): Promise<Producer> => {
    const known = producers.get(name) ?? open(name);
    producers.set(name, known);
    return known;
  };

  const add = async (name: JobName, payload: unknown, how: JobsOptions): Promise<void> => {
    if (closed) throw new QueueUnavailable(`The job ${name} was not taken: this process is closing its queue.`);
    const rule: JobRule = jobRules[name];
    const endsAt = performance.now() + SEND_MS_MAX;
    try {
      // Connecting and adding have separate waits, so that no job is added after the caller received an error.
      const producer = await answerWithin(readyProducer(rule.queue), SEND_MS_MAX, LATE);
      if (producer === LATE) throw new Error(`no connection within ${SEND_MS_MAX} ms`);
      const added = producer.add(name, payload, { ...retriesOf(rule), ...how });
      if ((await answerWithin(added, endsAt - performance.now(), LATE)) === LATE) {
        throw new Error(`no answer within ${SEND_MS_MAX} ms`);
      }
    } catch (cause) {
      throw new QueueUnavailable(`The job ${name} was not taken. Check ${storeName(options)}.`, { cause });
    }
  };

  const send: Queue['send'] = (name, payload, how = {}) => {
    const sent = add(name, payload, coalescing(name, how));
    sending.add(sent);
    const forget = () => void sending.delete(sent);
    sent.then(forget, forget);
    return sent;
  };
  const nudge: Queue['nudge'] = async (name, payload, how) => {
    try {
      await send(name, payload, how);
    } catch (error) {
      log.warn('wake-up not sent', { job: name, error });
    }
  };

  /** @returns whether the backend has the job now */
  const sendScheduled = async (name: JobName, payload: unknown, everyMs: number): Promise<boolean> => {
    try {
      await add(name, payload, oncePerInterval(name, everyMs));
      return true;
    } catch (error) {
      if (!closed) log.warn('scheduled job not sent', { job: name, error });
      return false;
    }
  };
  const schedule: Queue['schedule'] = (jobs, everyMs) => {
    const tick = async (): Promise<void> => {
      const sent = Object.entries(jobs).map(([name, payload]) => sendScheduled(name as JobName, payload, everyMs));
      const isSent = (await Promise.all(sent)).every(Boolean);
      if (closed) return;
      // All schedules start together. They drift apart, so that their jobs do not compete at every interval.
      const driftingMs = everyMs * (SUPPRESSED_SHARE + (1 - SUPPRESSED_SHARE) * (0.2 + 0.8 * Math.random()));
      const waitMs = isSent ? driftingMs : Math.min(everyMs, SCHEDULE_RETRY_MS);
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
      // A process that sends jobs of one queue only need not connect to the others.
      const names = producers.size > 0 ? [...producers.keys()] : [jobRules['settle-writes'].queue];
      for (const name of names) {
        const producer = await answerWithin(readyProducer(name), SEND_MS_MAX, LATE);
        if (producer === LATE) throw new QueueUnavailable(`${storeName(options)} does not answer.`);
      }
    },
    async close() {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      // Of those who do not wait for their jobs. Each ends by itself within the time limit of a job.
      await Promise.allSettled(sending);
      await Promise.all([...producers.values()].map((opening) => answerWithin(closeOnce(opening), CLOSE_MS_MAX, LATE)));
      await answerWithin(backend.close(), CLOSE_MS_MAX, LATE);
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
  // Not BullMQ's jobId, which would also drop jobs sent while the job runs.
  const deduplication = { id: `${name}/${jobId}`, keepLastIfActive: true };
  const replaces = delayMs === 0 || delayed === 'replace';
  return { ...delay, deduplication: replaces ? { ...deduplication, replace: true } : deduplication };
}

/**
 * The TTL suppresses other processes' jobs for the interval, even after the job is done. It is a little shorter than
 * the interval so that it does not suppress this process's next tick. The id prevents jobs from piling up while no
 * worker runs.
 */
function oncePerInterval(name: JobName, everyMs: number): JobsOptions {
  const id = `schedule-${name}`;
  return { jobId: id, deduplication: { id, ttl: Math.max(1, Math.floor(everyMs * SUPPRESSED_SHARE)) } };
}
