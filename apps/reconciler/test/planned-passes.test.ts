import { randomUUID } from 'node:crypto';
import type { ClusterId } from '@corral/contracts';
import { connectQueue, type Queue, type StartedWorker, startWorker } from '@corral/queue';
import { silentLog } from '@corral/service';
import { createTestDatabase, describeEachNeeding, missingRedis, redisForTests, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clusterJobs, planNext } from '../src/loop/due-rows.js';

const HOUR_MS = 3_600_000;
const database = await createTestDatabase();
const redis = await redisForTests();
afterAll(async () => {
  await database.drop();
  await redis?.stop();
});

const backends = [
  { backend: 'Postgres', redisUrl: undefined, missing: null },
  { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'a wake-up by an event, with jobs in $backend', ({ redisUrl }) => {
  const options = { redisUrl, databaseUrl: database.url, log: silentLog };
  let queue: Queue;
  let worker: StartedWorker | undefined;
  beforeEach(() => {
    queue = connectQueue(options);
  });
  afterEach(async () => {
    await worker?.close();
    await queue.close();
  });

  const work = (pass: (id: ClusterId) => Promise<unknown>): void => {
    const handlers = { 'reconcile-cluster': ({ clusterId }: { clusterId: ClusterId }) => pass(clusterId) };
    worker = startWorker({ ...options, closeMs: 200, queues: { clusters: { handlers, concurrency: 1 } } });
  };
  const inAnHour = { kind: 'finished', inMs: HOUR_MS } as const;

  it('is not replaced by what the running pass plans', async () => {
    const jobs = clusterJobs(queue, silentLog);
    const id = randomUUID() as ClusterId;
    let passes = 0;
    work(async () => {
      passes += 1;
      if (passes === 1) await jobs.wake([id]);
      await planNext(jobs, id, inAnHour, silentLog);
    });

    await jobs.wake([id]);

    await waitFor('the pass of the event', () => passes === 2);
  });

  it('is not replaced by a plan while it waits', async () => {
    const jobs = clusterJobs(queue, silentLog);
    const [id, last] = [randomUUID() as ClusterId, randomUUID() as ClusterId];
    await jobs.wake([id]);
    await planNext(jobs, id, inAnHour, silentLog);
    await jobs.wake([last]);

    const seen: ClusterId[] = [];
    work(async (each) => seen.push(each));

    await waitFor('the last job', () => seen.includes(last));
    expect(seen).toEqual([id, last]);
  });
});
