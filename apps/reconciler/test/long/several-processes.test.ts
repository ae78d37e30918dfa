import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { leadershipStore } from '../../src/loop/leader.js';
import type { TestCluster } from '../support/cluster-rows.js';
import { declaredClusters, isWatching, metric, wakeAll } from '../support/declared-clusters.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilRow } from '../support/until.js';

const HOUR_MS = 3_600_000;
const TASKS = ['watch-shoots', 'probe-garden'];

const redis: TestRedis | null = await redisForTests();
let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(async () => {
  await at.close();
  await redis?.stop();
});
afterEach(() => at.cloud.admin.clearFaults());

const { start, stopAll, declare, declareOne, expectSuccess, expectCreatedOnce } = declaredClusters(() => at);
const passesOf = (reconciler: Reconciler) => metric(reconciler, 'corral_reconcile_passes_total', /^finished$/);

const backends = [
  { backend: 'Postgres', missing: null },
  { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'clusters of several processes, with jobs in $backend', ({ redisUrl }) => {
  afterEach(stopAll);
  const withoutSweep = { redisUrl, intervals: { sweep: HOUR_MS } };

  it('are shared by all of them while the garden is slow, and created once', async () => {
    const options = { ...withoutSweep, settings: { concurrency: 2 } };
    const all = [await start(options), await start(options), await start(options)];
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY' }, times: null, effect: { delayMs: 200 } });
    const clusters = await declare(18);

    for (const reconciler of all) await wakeAll(reconciler, clusters);

    await expectCreatedOnce(clusters);
    for (const reconciler of all) expect(await passesOf(reconciler)).toBeGreaterThanOrEqual(3);
  });

  it('are carried out by one of them while a call of another one hangs', async () => {
    const settings = { concurrency: 1 };
    const first = await start({ ...withoutSweep, settings });
    const second = await start({ ...withoutSweep, settings });
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY', path: '/shoots/' }, effect: { hang: true } });
    const stuck = await declareOne();
    await second.wake(stuck.id);
    await waitFor('a write that hangs', () => at.cloud.admin.faults()[0]?.remaining === 0);

    const others = await declare(4);
    await wakeAll(first, others);

    // The one whose call hangs may have taken one more job.
    await waitFor('all but one to be applied', async () => {
      const rows = await Promise.all(others.map(({ id }) => at.row(id)));
      return rows.filter(({ applied_generation }) => applied_generation === 1).length >= 3;
    });
    expect((await at.row(stuck.id)).lease_until).not.toBeNull();
  });

  it('continue after the queue has lost everything, and the sweep counts those without a job', async () => {
    const reconciler = await start({ redisUrl });
    const clusters = await declare(4);
    await wakeAll(reconciler, clusters);
    await untilRow(at, (clusters[0] as TestCluster).id, ({ applied_generation }) => applied_generation === 1);

    if (redisUrl !== undefined) {
      const client = new Redis(redisUrl);
      await client.flushall();
      client.disconnect();
    } else {
      // Workers lock the tables in a different order, so a deadlock may abort this statement.
      await waitFor('the queue to be emptied', () =>
        at.pool.query('TRUNCATE bullmq.job, bullmq.dedup, bullmq.dedup_next CASCADE'),
      );
    }

    await expectSuccess([...clusters, await declareOne()]);
    expect(await metric(reconciler, 'corral_reconcile_sweep_found_total')).toBeGreaterThanOrEqual(1);
  });
});

describe('clusters of several processes', () => {
  afterEach(async () => {
    await stopAll();
    await leadershipStore(at).giveUp(TASKS, 'silent');
  });

  it('are carried out by planned passes while a process that is silent has the watch', async () => {
    await leadershipStore(at).hold(TASKS, 'silent', HOUR_MS);
    const other = await start({ intervals: { sweep: HOUR_MS } });
    at.cloud.admin.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      effect: { status: 503 },
    });
    const cluster = await declareOne();

    await other.wake(cluster.id);

    // Nothing but the plan of the failed pass leads to another one.
    await untilRow(at, cluster.id, ({ applied_generation }) => applied_generation === 1);
    await waitFor('its end', async () => {
      // The next plan is for a quarter of a minute later.
      await at.pass(cluster.id, HOUR_MS);
      await other.wake(cluster.id);
      return (await at.operation(cluster.operationId)).state === 'succeeded';
    });

    expect(await isWatching(other)).toBe(false);
  });

  it('have their lease released immediately by one that shuts down, although the garden hangs', async () => {
    // Neither the hanging call nor the lease ends during this test.
    const settings = { leaseMs: HOUR_MS };
    const first = await start({ settings });
    at.cloud.admin.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      times: 1,
      effect: { hang: true },
    });
    const cluster = await declareOne();
    await first.wake(cluster.id);
    await waitFor('the pass to hang', () => at.cloud.admin.faults()[0]?.remaining === 0);

    await first.stop();

    expect(await at.row(cluster.id)).toMatchObject({ lease_until: null, is_due: true });
    const second = await start({ settings, intervals: { sweep: HOUR_MS } });
    await expectCreatedOnce([cluster]);
    expect(await metric(second, 'corral_reconcile_passes_total')).toBeGreaterThan(0);
  });

  it('have one watch, which is handed over', async () => {
    const reconcilers = [await start(), await start()];
    const watching = () => Promise.all(reconcilers.map(isWatching));
    await waitFor('one reconciler to watch', async () => (await watching()).includes(true));
    expect((await watching()).sort()).toEqual([false, true]);
    expect(at.cloud.admin.garden.contents().openWatches).toBe(1);
    const leader = reconcilers[(await watching()).indexOf(true)] as Reconciler;
    const other = reconcilers.find((each) => each !== leader) as Reconciler;

    await leader.stop();

    await waitFor('the other reconciler to watch', () => isWatching(other));
  });
});
