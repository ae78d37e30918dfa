import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { leadershipStore } from '../../src/loop/leadership.js';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, type StartOptions, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

const HOUR_MS = 3_600_000;
const TASKS = ['watch-shoots', 'probe-garden'];

const redis: TestRedis | null = await redisForTests();
afterAll(() => redis?.stop());

let at: Clusters;
const started: Reconciler[] = [];
beforeAll(async () => {
  at = await startClusters();
});
afterEach(async () => {
  at.cloud.admin.clearFaults();
  await Promise.all(started.splice(0).map((reconciler) => reconciler.stop()));
  await leadershipStore(at.pool).giveUp(TASKS, 'silent');
});
afterAll(() => at.close());

/** Without a sweep that finds what was lost. */
async function start(options: StartOptions): Promise<Reconciler> {
  const reconciler = await at.start({ intervals: { sweep: HOUR_MS }, ...options });
  started.push(reconciler);
  return reconciler;
}

async function metric({ metrics }: Reconciler, name: string, outcome = ''): Promise<number> {
  const values = (await metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
  return values
    .filter(({ labels }) => String(labels.outcome ?? '') === outcome)
    .reduce((sum, { value }) => sum + value, 0);
}
const isWatching = async (reconciler: Reconciler) => (await metric(reconciler, 'corral_reconcile_watching')) === 1;
const passesOf = (reconciler: Reconciler) => metric(reconciler, 'corral_reconcile_passes_total', 'finished');

async function declare(): Promise<TestCluster> {
  const { team, connectionId } = await at.addTeamWithConnection();
  return at.declare(team, connectionId);
}

const backends = [
  { backend: 'Postgres', redisUrl: undefined, missing: null },
  { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'clusters of several processes, with jobs in $backend', ({ redisUrl }) => {
  it('are shared by all of them while the garden is slow', async () => {
    const settings = { concurrency: 2 };
    const first = await start({ redisUrl, settings });
    await waitFor('the watch', () => isWatching(first));
    const all = [first, await start({ redisUrl, settings }), await start({ redisUrl, settings })];
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY' }, times: null, effect: { delayMs: 400 } });

    const clusters = await Promise.all(Array.from({ length: 18 }, declare));
    await Promise.all(clusters.map(({ id }) => first.wake(id)));

    for (const { operationId } of clusters)
      expect(await untilEnded(at, operationId)).toMatchObject({ state: 'succeeded' });
    for (const reconciler of all) expect(await passesOf(reconciler)).toBeGreaterThanOrEqual(3);
  });

  it('are carried out by one of them while a call of another one hangs', async () => {
    const settings = { concurrency: 1 };
    const first = await start({ redisUrl, settings });
    const second = await start({ redisUrl, settings });
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY', path: '/shoots/' }, effect: { hang: true } });
    const stuck = await declare();
    await second.wake(stuck.id);
    await waitFor('a write that hangs', () => at.cloud.admin.faults()[0]?.remaining === 0);

    const others = await Promise.all(Array.from({ length: 4 }, declare));
    for (const { id } of others) await first.wake(id);

    // The one whose call hangs may have taken one more job.
    await waitFor('all but one to be applied', async () => {
      const rows = await Promise.all(others.map(({ id }) => at.row(id)));
      return rows.filter(({ applied_generation }) => applied_generation === 1).length >= 3;
    });
    expect((await at.row(stuck.id)).lease_until).not.toBeNull();
  });

  it('are carried out while a process that is silent has the watch', async () => {
    await leadershipStore(at.pool).hold(TASKS, 'silent', HOUR_MS);
    const other = await start({ redisUrl });
    const cluster = await declare();

    await other.wake(cluster.id);

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    expect(await isWatching(other)).toBe(false);
  });
});
