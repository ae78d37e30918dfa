import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { answerWithin, type Log, type Metrics } from '@corral/service';
import { type Job, WaitingError } from 'bullmq';
import { type Backend, type BackendOptions, type Consumer, connectionErrorLog, openBackend } from './backend.js';
import { type JobName, type JobOf, type JobPayloads, jobs, type QueueName } from './jobs.js';

export interface JobContext {
  /** 1 for the first run. */
  readonly attempt: number;
  /** Aborted when the process can no longer wait for this job. */
  readonly signal: AbortSignal;
  readonly log: Log;
}
/** The handlers for the jobs of a queue; without `Q`, of all queues. */
export type JobHandlers<Q extends QueueName = QueueName> = {
  readonly [N in JobOf<Q>]: (payload: JobPayloads[N], context: JobContext) => Promise<unknown>;
};

interface ServedQueue<Q extends QueueName> {
  readonly handlers: JobHandlers<Q>;
  /** Concurrent jobs of this queue in this process. */
  readonly concurrency: number;
}

export interface WorkerOptions extends BackendOptions {
  /** The queues this process serves. Each has its own worker, so a queue whose jobs hang does not block another. */
  queues: { readonly [Q in QueueName]?: ServedQueue<Q> };
  log: Log;
  metrics?: Metrics;
  /** How long running jobs may continue after `close`, in ms. Default: 20,000. */
  closeMs?: number;
  /** A job whose worker is silent for this long is given to another one, in ms. Default: 30,000. */
  lockMs?: number;
}

export interface StartedWorker {
  /** Resolves when every queue is being served for the first time. */
  readonly ready: Promise<void>;
  /** Stops fetching jobs and waits for the running ones, up to `closeMs`. Never rejects. */
  close(): Promise<void>;
}

const LATE = Symbol('late');
const REOPEN_MS = 1_000;
const IDLE_MS_MAX = 1_000;
const ABORTED_MS_MAX = 1_000;
/** A job is a hint and safe to repeat, so it is not dropped soon when its workers die. */
const STALLED_MAX = 10;
/** Connections to Postgres for all queues together, besides those that listen. */
const CONNECTIONS = 3;

/** Serves the given queues. Waits for an unavailable backend, at start and later. */
export function startWorker(options: WorkerOptions): StartedWorker {
  const { closeMs = 20_000, log } = options;
  const runner = jobRunner(options);
  const served = Object.entries(options.queues) as [QueueName, ServedQueue<QueueName>][];
  const backend = openBackend(options, served.length + CONNECTIONS);
  const serving = served.map(([queue, { handlers, concurrency }]) =>
    serveQueue(queue, runner.runWith(handlers), concurrency, { ...options, backend }),
  );
  const close = async (): Promise<void> => {
    runner.stop();
    const closed = Promise.all(serving.map((queue) => queue.close())).then(() => backend.close());
    // Without running jobs only connections are left to close, perhaps to an unavailable backend.
    if ((await answerWithin(closed, Math.min(closeMs, IDLE_MS_MAX), LATE)) !== LATE) return;
    if (runner.running() > 0 && (await answerWithin(closed, closeMs - IDLE_MS_MAX, LATE)) !== LATE) return;
    runner.abort();
    if (runner.running() > 0 && (await answerWithin(closed, ABORTED_MS_MAX, LATE)) !== LATE) return;
    if (runner.running() > 0) log.warn('jobs cut at close', { jobs: runner.running(), closeMs });
    runner.cut();
    await answerWithin(closed, ABORTED_MS_MAX, LATE);
  };
  return {
    ready: Promise.all(serving.map((queue) => queue.ready)).then(() => undefined),
    close: () => close().catch((error: unknown) => log.warn('queue not closed', { error })),
  };
}

/** Delay before a worker's loop restarts after its connection broke. */
const RETRY_MS = 1_000;

type RunJob = (job: Job, token?: string) => Promise<void>;

function serveQueue(
  queue: QueueName,
  run: RunJob,
  concurrency: number,
  { backend, log, lockMs = 30_000 }: WorkerOptions & { readonly backend: Backend },
) {
  const settings = {
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    maxStalledCount: STALLED_MAX,
    // BullMQ's default of 15 s would dominate the recovery time.
    runRetryDelay: RETRY_MS,
  };
  const reportError = connectionErrorLog(log.child({ queue }));
  let worker: Consumer | undefined;
  const stop = new AbortController();

  const start = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const opened = await backend.openWorker(queue, run, settings, reportError);
        worker = opened;
        if (stop.signal.aborted) return await opened.close();
        return void (await opened.waitUntilReady());
      } catch (error) {
        reportError(error);
        // BullMQ caches a failed start on Postgres.
        await worker?.close().catch(reportError);
        await pause(REOPEN_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    }
  };
  const ready = start();
  return {
    ready,
    close: async () => {
      stop.abort();
      await worker?.close();
    },
  };
}

function jobRunner({ log, metrics }: WorkerOptions) {
  const aborter = new AbortController();
  const cutter = new AbortController();
  // Shared by all jobs and their calls, so many listeners are not a leak.
  setMaxListeners(Number.POSITIVE_INFINITY, aborter.signal, cutter.signal);
  let running = 0;
  let stopped = false;
  const seconds = metrics?.histogram({
    name: 'corral_job_duration_seconds',
    help: 'Duration of one run of a job, by outcome',
    labelNames: ['job', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300],
  });

  const handle = async (handlers: Partial<JobHandlers>, job: Job, attempt: number, jobLog: Log): Promise<void> => {
    const name = job.name as JobName;
    const handler = handlers[name] as ((payload: unknown, context: JobContext) => Promise<unknown>) | undefined;
    // A newer release may send jobs that this one does not have.
    if (handler === undefined) throw new Error(`No handler for the job ${name}: is another release running?`);
    await unlessCut(handler(job.data, { attempt, signal: aborter.signal, log: jobLog }), cutter.signal);
  };
  const run = async (handlers: Partial<JobHandlers>, job: Job, token?: string): Promise<void> => {
    // BullMQ may fetch one more job while it closes.
    if (stopped) return giveBack(job, token);
    const attempt = job.attemptsMade + 1;
    const jobLog = log.child({ job: job.name, jobId: job.id });
    const startedAt = performance.now();
    const observe = (outcome: 'done' | 'failed' | 'cut') =>
      seconds?.observe({ job: jobLabel(job.name), outcome }, (performance.now() - startedAt) / 1000);
    running += 1;
    try {
      await handle(handlers, job, attempt, jobLog);
      observe('done');
    } catch (error) {
      if (error === CUT) {
        observe('cut');
        return await giveBack(job, token);
      }
      observe('failed');
      jobLog.error('job failed', { attempt, willRetry: attempt < (job.opts.attempts ?? 1), error });
      throw error;
    } finally {
      running -= 1;
    }
  };
  const stop = (): void => {
    stopped = true;
  };
  return {
    runWith:
      (handlers: Partial<JobHandlers>): RunJob =>
      (job, token) =>
        run(handlers, job, token),
    running: () => running,
    stop,
    abort: () => aborter.abort(),
    cut: () => cutter.abort(),
  };
}

/** Lets another worker take the job immediately, instead of when its lock expires. */
async function giveBack(job: Job, token?: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

const CUT = Symbol('cut');
const jobLabel = (name: string): string => (name in jobs ? name : 'unknown');

/** @throws CUT when the signal is aborted first */
async function unlessCut(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  let cut = () => {};
  const cutShort = new Promise<never>((_resolve, reject) => {
    cut = () => reject(CUT);
  });
  signal.addEventListener('abort', cut);
  try {
    await Promise.race([work, cutShort]);
  } finally {
    signal.removeEventListener('abort', cut);
  }
}
