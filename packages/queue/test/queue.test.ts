import { asClusterId } from '@corral/contracts';
import { createMetrics, silentLog } from '@corral/service';
import { describeEachNeeding, type FlakyProxy, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BackendOptions } from '../src/backend.js';
import { connectQueue, type Queue, QueueUnavailable } from '../src/connect-queue.js';
import { type JobHandlers, type StartedWorker, startWorker, type WorkerOptions } from '../src/start-worker.js';
import { heldJob, memoryLog, type OpenBackend, redisCommand, someQueues, testBackends } from './backends.js';

describeEachNeeding(describe, testBackends, 'the queue on $title', ({ open: openBackend, title }) => {
  let backend: OpenBackend;
  let options: BackendOptions;
  let proxy: FlakyProxy;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    backend = await openBackend();
  });
  afterAll(() => backend.close());
  beforeEach(async () => {
    ({ options, proxy } = await backend.start());
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await proxy.close();
  });

  function aQueue(log = silentLog): Queue {
    const queue = connectQueue({ ...options, log });
    open.push(queue);
    return queue;
  }
  type Settings = Partial<Pick<WorkerOptions, 'log' | 'metrics' | 'closeMs' | 'lockMs'>> & { concurrency?: number };

  function aWorker(handlers: Partial<JobHandlers>, { concurrency, ...more }: Settings = {}): StartedWorker {
    const queues = someQueues(handlers, concurrency);
    const worker = startWorker({ ...options, queues, log: silentLog, closeMs: 200, ...more });
    open.push(worker);
    return worker;
  }

  it('passes the payload from the sender to the worker', async () => {
    const seen: unknown[] = [];
    aWorker({ 'zone-sync': async (payload, { attempt }) => seen.push({ payload, attempt }) });

    await aQueue().send('zone-sync', { reason: 'request', runId: 'r1' });

    await waitFor('the job', () => seen.length === 1);
    expect(seen).toEqual([{ payload: { reason: 'request', runId: 'r1' }, attempt: 1 }]);
  });

  it('coalesces waiting jobs with the same id, and says so', async () => {
    const queue = aQueue();
    const wasAdded: boolean[] = [];
    for (let sent = 0; sent < 5; sent += 1) wasAdded.push(await queue.send('settle-writes', {}, { jobId: 'all' }));
    await queue.send('zone-sync', { reason: 'start' });
    let settled = 0;
    const done: string[] = [];

    aWorker(
      { 'settle-writes': async () => done.push(`settle ${++settled}`), 'zone-sync': async () => done.push('sync') },
      { concurrency: 1 },
    );

    await waitFor('the last job', () => done.includes('sync'));
    expect(wasAdded).toEqual([true, false, false, false, false]);
    expect(done).toEqual(['settle 1', 'sync']);
  });

  it('runs a job once more when it was sent again while running, and then accepts the id again', async () => {
    const queue = aQueue();
    const job = heldJob();
    aWorker({ 'settle-writes': job.handler });
    await queue.send('settle-writes', {}, { jobId: 'all' });
    await waitFor('the first run', () => job.runs() === 1);

    const send = () => queue.send('settle-writes', {}, { jobId: 'all' });
    expect([await send(), await send()]).toEqual([false, false]);
    job.release();
    await waitFor('the second run', () => job.runs() === 2);
    job.release();
    await waitFor('the id to be free', async () => {
      await queue.send('settle-writes', {}, { jobId: 'all' });
      return job.runs() === 3;
    });
    job.release();

    expect(job.runs()).toBe(3);
  });

  it('goes on with a schedule after its process ended, and after an outage of the backend', async () => {
    let runs = 0;
    aWorker({ 'settle-writes': async () => (runs += 1) }, { lockMs: 1_000 });
    const [first, second] = [aQueue(), aQueue()];
    for (const queue of [first, second]) queue.schedule('settle-writes', 200);
    const untilMore = async () => {
      const before = runs;
      await waitFor('another run', () => runs > before + 1);
    };
    await untilMore();

    await first.close();
    await untilMore();
    proxy.cut();
    proxy.restore();

    await untilMore();
  });

  it('starts while the backend is unavailable and works once it is there', async () => {
    proxy.cut();
    const queue = aQueue();
    let runs = 0;
    const worker = aWorker({ 'settle-writes': async () => (runs += 1) });
    await expect(queue.send('settle-writes', {}, { jobId: 'all' })).rejects.toThrow(
      `The job settle-writes was not taken. Check ${title}.`,
    );

    proxy.restore();
    await worker.ready;
    await waitFor('a job to be taken', () => queue.send('settle-writes', {}, { jobId: 'all' }).then(() => true));

    await waitFor('the job', () => runs >= 1);
  });

  it('fails fast while the backend is unavailable, and survives that without flooding the log', async () => {
    const { log, lines } = memoryLog();
    const queue = aQueue(log);
    let runs = 0;
    // A job that was fetched but not started when the connection broke comes back when its lock expires.
    const worker = aWorker({ 'settle-writes': async () => (runs += 1) }, { log, lockMs: 1_000 });
    await worker.ready;

    for (let outage = 1; outage <= 2; outage += 1) {
      proxy.cut();
      await expect(queue.send('settle-writes', {})).rejects.toBeInstanceOf(QueueUnavailable);
      await expect(queue.nudge('settle-writes', {})).resolves.toBeUndefined();
      proxy.restore();
      const before = runs;
      await waitFor('a job to be taken', () => queue.send('settle-writes', {}, { jobId: 'all' }).then(() => true));
      await waitFor('the job to run', () => runs > before);
    }

    expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', message: 'wake-up not sent' }));
    expect(lines.filter(({ message }) => message === 'queue connection failed').length).toBeLessThan(8);
  });

  // What does not depend on the connection is shown once.
  if (title === 'Postgres') {
    it.each<{ delayMs?: number }>([{ delayMs: 50 }, {}])('replaces a delayed job by one with %j', async (sooner) => {
      const queue = aQueue();
      const seen: unknown[] = [];
      aWorker({ 'reconcile-cluster': async ({ clusterId }) => seen.push(clusterId) });
      const later = { jobId: 'timer', delayMs: 3_600_000 };
      await queue.send('reconcile-cluster', { clusterId: asClusterId('first') }, later);

      await queue.send('reconcile-cluster', { clusterId: asClusterId('second') }, { jobId: 'timer', ...sooner });

      await waitFor('the job', () => seen.length > 0);
      expect(seen).toEqual(['second']);
    });

    it('runs the jobs of one queue while those of another hang', async () => {
      const queue = aQueue();
      const poison = heldJob();
      let sweeps = 0;
      aWorker({ 'reconcile-cluster': poison.handler, 'count-nodes': async () => (sweeps += 1) }, { concurrency: 2 });
      for (const id of ['1', '2', '3']) await queue.send('reconcile-cluster', { clusterId: asClusterId(id) });
      await waitFor('all places to be taken', () => poison.runs() === 2);

      await queue.send('count-nodes', {});

      await waitFor('the job of the other queue', () => sweeps === 1);
      expect(poison.runs()).toBe(2);
      poison.release();
      await waitFor('the rest', () => poison.runs() === 3);
      poison.release();
    });

    it('logs a failed job and retries it according to its rule', async () => {
      const { log, lines } = memoryLog();
      const attempts: number[] = [];
      const metrics = createMetrics({ service: 'test' });
      const handler: JobHandlers['zone-sync'] = async (_payload, { attempt }) => {
        attempts.push(attempt);
        if (attempt === 1) throw new Error('the upstream is away');
      };
      aWorker({ 'zone-sync': handler }, { log, metrics });

      await aQueue().send('zone-sync', { reason: 'start' });

      await waitFor('the second run', () => attempts.length === 2);
      expect(lines).toContainEqual({
        level: 'error',
        message: 'job failed',
        fields: { attempt: 1, willRetry: true, error: new Error('the upstream is away') },
      });
      expect(await metrics.registry.metrics()).toMatch(/corral_job_duration_seconds_count\{.*outcome="failed"\} 1/);
    });

    it('sends one scheduled job per interval, however many processes schedule it', async () => {
      const runs: number[] = [];
      aWorker({ 'settle-writes': async () => runs.push(performance.now()) });

      const begunAt = performance.now();
      for (const queue of [aQueue(), aQueue(), aQueue()]) queue.schedule('settle-writes', 200);

      await waitFor('the fourth run', () => runs.length >= 4);
      const perInterval = runs.length / ((performance.now() - begunAt) / 200);
      expect(perInterval).toBeLessThan(2);
    });

    it('does not pile up scheduled jobs while no worker runs', async () => {
      const queue = aQueue();
      queue.schedule('settle-writes', 20);
      await queue.ping();
      let ticks = 0;
      await waitFor('some intervals to pass', () => ++ticks > 10);
      await queue.close();
      let settled = 0;
      let marker = false;
      await aQueue().send('zone-sync', { reason: 'start' });

      aWorker(
        { 'settle-writes': async () => (settled += 1), 'zone-sync': async () => (marker = true) },
        { concurrency: 1 },
      );

      await waitFor('the marker', () => marker);
      expect(settled).toBe(1);
    });

    it('waits for running jobs at close and starts no others', async () => {
      const queue = aQueue();
      const job = heldJob();
      const worker = aWorker({ 'settle-writes': job.handler }, { closeMs: 10_000 });
      await queue.send('settle-writes', {}, { jobId: '1' });
      await waitFor('the first job', () => job.runs() === 1);

      let closed = false;
      const closing = worker.close().then(() => {
        closed = true;
      });
      await queue.send('settle-writes', {}, { jobId: '2' });
      expect(closed).toBe(false);
      job.release();
      await closing;

      expect(job.runs()).toBe(1);
    });

    it('aborts a job that outlasts the close, then gives it to another worker', async () => {
      const { log, lines } = memoryLog();
      const job = heldJob();
      let aborted = false;
      const handler: JobHandlers['settle-writes'] = (_payload, { signal }) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return job.handler();
      };
      const worker = aWorker({ 'settle-writes': handler }, { closeMs: 50, log });
      await aQueue().send('settle-writes', {});
      await waitFor('the job to run', () => job.runs() === 1);

      await worker.close();

      expect(aborted).toBe(true);
      expect(lines).toContainEqual(expect.objectContaining({ level: 'warn', message: 'jobs cut at close' }));
      let runs = 0;
      aWorker({ 'settle-writes': async () => (runs += 1) });
      await waitFor('the other worker to run it', () => runs === 1);
    });
  }

  if (title === 'Redis') {
    it('continues a schedule and running workers after FLUSHALL', async () => {
      const queue = aQueue();
      let runs = 0;
      const worker = aWorker({ 'settle-writes': async () => (runs += 1) });
      await worker.ready;
      queue.schedule('settle-writes', 200);
      await waitFor('the first run', () => runs > 0);

      for (let flush = 1; flush <= 3; flush += 1) {
        await redisCommand(options.redisUrl ?? '', 'FLUSHALL');
        const before = runs;
        await waitFor('a run after the flush', () => runs > before);
      }
    });
  }
});
