import { randomUUID } from 'node:crypto';
import type { ClusterId } from '@corral/contracts';
import { connectQueue, jobs, type Queue, type QueueName, type StartedWorker, startWorker } from '@corral/queue';
import { silentLog } from '@corral/service';
import { describeEachNeeding, missingRedis, redisForTests, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Leading, lead, leadershipStore } from '../src/loop/leader.js';
import { clusterJobs, planNext } from '../src/loop/sweep.js';
import { openClusterRows } from './support/cluster-rows.js';

/** A process without a garden serves neither `clusters` nor `upkeep`, and one without encryption keys not `servers`. */
const servedTogether: readonly (readonly QueueName[])[] = [['clusters', 'upkeep'], ['servers']];

describe('a row whose job was lost', () => {
  it.each(['reconcile-cluster', 'reconcile-server'] as const)('is found for %s by who can work on it', (name) => {
    const { queue, foundBy } = jobs[name];

    expect(servedTogether).toContainEqual(expect.arrayContaining([queue, jobs[foundBy].queue]));
  });
});

const HOUR_MS = 3_600_000;
const at = await openClusterRows();
const redis = await redisForTests();
afterAll(async () => {
  await at.close();
  await redis?.stop();
});

const backends = [
  { backend: 'Postgres', redisUrl: undefined, missing: null },
  { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'a wake-up by an event, with jobs in $backend', ({ redisUrl }) => {
  const options = { redisUrl, databaseUrl: at.url, log: silentLog };
  let queue: Queue;
  let worker: StartedWorker | undefined;
  beforeEach(async () => {
    queue = connectQueue(options);
    await waitFor('the queue', () => queue.ping().then(() => true));
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

describe('a task with one leader', () => {
  const LEASE_MS = 400;
  const open: Leading[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });

  /** A candidate for the task, and how often it has started. */
  function candidate(task: string, { store = leadershipStore(at), leaseMs = LEASE_MS } = {}) {
    let begun = 0;
    let working = 0;
    const work = async (signal: AbortSignal) => {
      begun += 1;
      working += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      working -= 1;
    };
    const leading = lead({ store, tasks: { [task]: work }, holder: randomUUID(), leaseMs, log: silentLog });
    open.push(leading);
    return { ...leading, isLeading: () => leading.isLeading(task), begun: () => begun, working: () => working };
  }

  it('is performed by one of many', async () => {
    const candidates = Array.from({ length: 5 }, () => candidate('one-of-many', { leaseMs: HOUR_MS }));

    await waitFor('a leader', () => candidates.some((each) => each.isLeading()));
    const { rows } = await at.pool.query(`SELECT * FROM leadership WHERE name = 'one-of-many'`);

    expect(candidates.filter((each) => each.working() === 1)).toHaveLength(1);
    expect(rows).toEqual([expect.objectContaining({ fence: 1 })]);
  });

  it('is taken over immediately when its leader shuts down', async () => {
    const first = candidate('orderly', { leaseMs: HOUR_MS });
    await waitFor('the first to lead', () => first.isLeading());
    const second = candidate('orderly');

    await first.close();

    expect(first.working()).toBe(0);
    await waitFor('the second to lead', () => second.isLeading());
  });

  it('is taken over when its leader is silent', async () => {
    await leadershipStore(at).hold(['silent'], 'dead', 1);
    await waitFor('its lease to end', async () => {
      const { rowCount } = await at.pool.query(
        `SELECT FROM leadership WHERE name = 'silent' AND until < clock_timestamp()`,
      );
      return rowCount === 1;
    });
    const next = candidate('silent', { leaseMs: HOUR_MS });

    await waitFor('the next to lead', () => next.isLeading());

    const { rows } = await at.pool.query(`SELECT * FROM leadership WHERE name = 'silent'`);
    expect(rows).toEqual([expect.objectContaining({ fence: 2 })]);
  });

  it('is given up by a leader that cannot renew its lease', async () => {
    let isAway = false;
    const store = leadershipStore(at);
    const hold: typeof store.hold = (...args) => (isAway ? Promise.reject(new Error('away')) : store.hold(...args));
    const first = candidate('cut off', { store: { ...store, hold } });
    await waitFor('the first to lead', () => first.isLeading());

    isAway = true;

    await waitFor('it to stop', () => !first.isLeading() && first.working() === 0);
    const begunBefore = first.begun();
    isAway = false;
    await waitFor('it to lead again', () => first.begun() > begunBefore);
  });
});
