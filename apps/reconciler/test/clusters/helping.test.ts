import { asClusterId, type ClusterId } from '@corral/contracts';
import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterTable } from '../../src/clusters/workers.js';
import { dueLook } from '../../src/loop/due-look.js';
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
  // What is left would be due so long that a process helps in the next test.
  await at.pool.query('UPDATE cluster SET due_at = NULL');
});
afterAll(() => at.close());

async function start(options: StartOptions): Promise<Reconciler> {
  // No sweep finds what was lost.
  const reconciler = await at.start({ ...options, settings: { sweepIntervalMs: HOUR_MS, ...options.settings } });
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
const untilTaking = (reconciler: Reconciler, is: boolean) =>
  waitFor(`a process that takes ${is ? '' : 'no '}jobs`, async () => {
    expect(await metric(reconciler, 'corral_reconcile_taking_jobs')).toBe(Number(is));
    return true;
  });

async function declare(): Promise<TestCluster> {
  const { team, connectionId } = await at.addTeamWithConnection();
  return at.declare(team, connectionId);
}

const backends = [
  { backend: 'Postgres', redisUrl: undefined, missing: null },
  { backend: 'Redis', redisUrl: redis?.url, missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'clusters of two processes, with jobs in $backend', ({ redisUrl }) => {
  /** One with the watch, and one that leaves clusters to it. */
  async function startTwo(settings: StartOptions['settings'] = {}): Promise<[Reconciler, Reconciler]> {
    const first = await start({ redisUrl, settings });
    await waitFor('the watch', () => isWatching(first));
    const second = await start({ redisUrl, settings });
    await untilTaking(second, false);
    return [first, second];
  }

  it('are left to the one with the watch', async () => {
    const [first, second] = await startTwo();

    const clusters = await Promise.all(Array.from({ length: 12 }, declare));
    await Promise.all(clusters.map(({ id }) => second.wake(id)));
    for (const { operationId } of clusters)
      expect(await untilEnded(at, operationId)).toMatchObject({ state: 'succeeded' });

    // A worker that waits for a job when it is told to leave them gets one more.
    expect(await passesOf(second)).toBeLessThanOrEqual(2);
    expect(await passesOf(first)).toBeGreaterThanOrEqual(11);
  });

  it('are taken by the other one while the one with the watch has no place', async () => {
    const [, second] = await startTwo({ concurrency: 1 });
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY', path: '/shoots/' }, effect: { hang: true } });
    const stuck = await declare();
    await second.wake(stuck.id);
    await waitFor('a write that hangs', () => at.cloud.admin.faults()[0]?.remaining === 0);

    const others = await Promise.all(Array.from({ length: 4 }, declare));
    for (const { id } of others) await second.wake(id);

    // The one with the watch may have taken a job that waits for its place.
    await waitFor('all but one to be applied', async () => {
      const rows = await Promise.all(others.map(({ id }) => at.row(id)));
      return rows.filter(({ applied_generation }) => applied_generation === 1).length >= 3;
    });
    expect((await at.row(stuck.id)).lease_until).not.toBeNull();
  });

  it('are taken while a process that is silent has the watch', async () => {
    await leadershipStore(at.pool).hold(TASKS, 'silent', HOUR_MS);
    const helper = await start({ redisUrl });
    await untilTaking(helper, false);
    const cluster = await declare();

    await helper.wake(cluster.id);

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    expect(await isWatching(helper)).toBe(false);
  });

  it('are taken by the other one when the one with the watch has ended', async () => {
    const [first, second] = await startTwo();

    await first.stop();

    await untilTaking(second, true);
    const cluster = await declare();
    await second.wake(cluster.id);
    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    await waitFor('the watch', () => isWatching(second));
    await untilTaking(second, true);
  });
});

describe('a look at what is due', () => {
  const look = (limit = 10) => dueLook(at.pool, clusterTable)({ task: TASKS[0] as string, limit });

  async function addRows(columns: readonly string[]): Promise<ClusterId[]> {
    const team = await at.addTeam();
    const connectionId = await at.addConnection(team);
    const ids: ClusterId[] = [];
    for (const values of columns) {
      const { rows } = await at.pool.query(
        `INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash, due_at, lease_until, started_at)
         VALUES ($1, 'c-' || gen_random_uuid(), $2, '{}', 'h', ${values}) RETURNING id`,
        [team.id, connectionId],
      );
      ids.push(asClusterId(rows[0].id));
    }
    return ids;
  }

  it('counts what is due and has no pass, and finds what is due longest', async () => {
    expect(await look()).toMatchObject({ due: 0, oldest: null });

    const [oldest] = await addRows([
      `now() - interval '5 s', NULL, now()`,
      'now(), NULL, now()',
      `now() - interval '9 s', now() + interval '1 hour', now()`,
      `now() - interval '2 s', now() - interval '1 s', now()`,
      `now() + interval '1 hour', NULL, now()`,
      `now() - interval '9 s', NULL, NULL`,
      'NULL, NULL, now()',
    ]);

    const seen = await look();
    expect(seen).toMatchObject({ due: 3, oldest: { id: oldest } });
    expect(seen.oldest?.forMs).toBeGreaterThanOrEqual(5_000);
    expect(await look(2)).toMatchObject({ due: 2, oldest: { id: oldest } });
    expect((await look()).oldest?.dueAt).toBe(seen.oldest?.dueAt);
  });

  it('tells whether any process has the watch', async () => {
    const store = leadershipStore(at.pool);
    expect(await look()).toMatchObject({ isWatched: false });

    await store.hold(TASKS, 'silent', HOUR_MS);
    expect(await look()).toMatchObject({ isWatched: true });

    await store.giveUp(TASKS, 'silent');
    expect(await look()).toMatchObject({ isWatched: false });
  });
});
