import { randomUUID } from 'node:crypto';
import { answerWithin, type Log } from '@corral/service';
import type { JobsOptions } from 'bullmq';
import { type BackendOptions, connectionErrorLog, openBackend, type Producer } from './backend.js';
import { type JobName, type JobPayloads, type JobRule, jobs, type QueueName, type Recurring } from './jobs.js';

export interface QueueOptions extends BackendOptions {
  log: Log;
}

interface SendOptions {
  /**
   * Coalesces jobs of the same name and id: while one waits, another adds nothing; while one runs, one more run
   * follows, so that no wake-up is lost to a run that has already read its data. Default: no coalescing.
   */
  jobId?: string;
  /** Delay in ms. Default: 0. A job replaces a delayed one with the same id. */
  delayMs?: number;
}

/** The sending side of the queue. */
export interface Queue {
  /**
   * @returns whether there is one job more: false if one with the same id was there
   * @throws QueueUnavailable within about two seconds when the job was not accepted
   */
  send<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<boolean>;
  /** Does what `send` does, but a failure is only logged: for hints whose work a sweep finds anyway. Never rejects. */
  nudge<N extends JobName>(name: N, payload: JobPayloads[N], options?: SendOptions): Promise<void>;
  /** Sends a job now and every `everyMs`, until `close`. With several processes, one is sent per interval in total. */
  schedule(name: RecurringJob, everyMs: number): void;
  /** Resolves when the backend accepts jobs. For readiness checks. */
  ping(): Promise<void>;
  /** Waits for jobs that are being sent. */
  close(): Promise<void>;
}

/** A job that needs no payload. */
export type RecurringJob = { [N in JobName]: Record<string, never> extends JobPayloads[N] ? N : never }[JobName];

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

/** The connections for all jobs that a process sends. */
const CONNECTIONS_MAX = 2;

/** Connects on the first job, and reconnects when needed. */
export function connectQueue({ log, ...options }: QueueOptions): Queue {
  const backend = openBackend(options, CONNECTIONS_MAX);
  const producers = new Map<QueueName, Promise<Producer>>();
  const timers = new Set<NodeJS.Timeout>();
  const sending = new Set<Promise<boolean>>();
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

  const add = async (name: JobName, payload: unknown, how: JobsOptions): Promise<boolean> => {
    if (closed) throw new QueueUnavailable(`The job ${name} was not taken: this process is closing its queue.`);
    const rule: JobRule = jobs[name];
    const endsAt = performance.now() + SEND_MS_MAX;
    // BullMQ answers with the id of the job that was there, if one was.
    const jobId = how.jobId ?? randomUUID();
    try {
      // Connecting and adding have separate waits, so that no job is added after the caller received an error.
      const producer = await answerWithin(readyProducer(rule.queue), SEND_MS_MAX, LATE);
      if (producer === LATE) throw new Error(`no connection within ${SEND_MS_MAX} ms`);
      const adding = producer.add(name, payload, { ...retriesOf(rule), ...how, jobId });
      const added = await answerWithin(adding, endsAt - performance.now(), LATE);
      if (added === LATE) throw new Error(`no answer within ${SEND_MS_MAX} ms`);
      return added.id === jobId;
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

  const schedule: Queue['schedule'] = (name, everyMs) => {
    const { payload = {} } = jobs[name] as Recurring;
    const tick = async (): Promise<void> => {
      let waitMs = everyMs * (SUPPRESSED_SHARE + (1 - SUPPRESSED_SHARE) * (0.2 + 0.8 * Math.random()));
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
      // A process that sends jobs of one queue only need not connect to the others.
      const names = producers.size > 0 ? [...producers.keys()] : [jobs['settle-writes'].queue];
      for (const name of names) {
        const producer = await answerWithin(readyProducer(name), SEND_MS_MAX, LATE);
        if (producer === LATE) throw new QueueUnavailable(`${storeName(options)} does not answer.`);
      }
    },
    async close() {
      closed = true;
      for (const timer of timers) clearTimeout(timer);
      // Senders who do not wait for their jobs are waited for here. Each ends by itself within the time limit of a job.
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

function retriesOf({ retries }: JobRule): JobsOptions {
  if (retries === undefined) return { attempts: 1 };
  return { attempts: 1 + retries.times, backoff: { type: 'exponential', delay: retries.firstMs, jitter: 0.5 } };
}

function coalescing(name: JobName, { jobId, delayMs = 0 }: SendOptions): JobsOptions {
  const delay = delayMs > 0 ? { delay: delayMs } : {};
  if (jobId === undefined) return delay;
  // BullMQ's jobId would also drop jobs sent while the job runs.
  return { ...delay, deduplication: { id: `${name}/${jobId}`, keepLastIfActive: true, replace: true } };
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
