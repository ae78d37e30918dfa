import type { ConnectionId } from '@corral/contracts';
import type { FaultRule } from '@corral/local-cloud';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestCluster } from '../support/cluster-rows.js';
import { declaredClusters, isWatching, metric, wakeAll } from '../support/declared-clusters.js';
import { type Clusters, OTHER_TOKEN, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilRow } from '../support/until.js';

const HOUR_MS = 3_600_000;

let at: Clusters;
beforeAll(async () => {
  at = await startClusters();
});
afterAll(() => at.close());
afterEach(() => at.cloud.admin.clearFaults());

const { start, stopAll, declare, declareOne, expectSuccess, expectCreatedOnce, shootsEver } = declaredClusters(
  () => at,
);

/** Ready clusters that need no more steps. */
async function readyClusters(reconciler: Reconciler, count: number) {
  const clusters = await declare(count);
  await wakeAll(reconciler, clusters);
  await expectSuccess(clusters);
  for (const { id } of clusters)
    await untilRow(at, id, ({ due_at, lease_until }) => due_at === null && lease_until === null);
  return clusters;
}
async function aReadyCluster(reconciler: Reconciler) {
  const [cluster] = await readyClusters(reconciler, 1);
  return cluster as NonNullable<typeof cluster>;
}
const untilWatching = (reconciler: Reconciler) => waitFor('the watch', () => isWatching(reconciler));
/** After each run the garden checks the health of the result and reports it. */
const untilChecked = (clusters: readonly TestCluster[]) =>
  waitFor('the garden to have checked all', async () => {
    const rows = await Promise.all(clusters.map(({ id }) => at.row(id)));
    return rows.every(({ conditions }) => conditions.every(({ status }) => status === 'True'));
  });

describe('on a garden', () => {
  let reconciler: Reconciler;
  beforeAll(async () => {
    reconciler = await at.start({ intervals: { verify: 200 } });
  });
  afterAll(() => reconciler.stop());

  it('a garden with failures that throttles and drops connections only delays operations', async () => {
    const clusters = await declare(3);
    at.cloud.admin.addFaults({ match: { api: 'garden' }, times: 5, effect: { status: 429, retryAfter: 1 } });
    at.cloud.admin.addFaults({ match: { api: 'garden' }, times: 5, effect: { reset: 'before' } });

    await wakeAll(reconciler, clusters);

    await expectCreatedOnce(clusters);
  });

  describe('a replaced token', () => {
    const connection = async (id: string) =>
      (await at.pool.query('SELECT * FROM connection WHERE id = $1', [id])).rows[0];
    /** Replaces the token as the API does when the provider gave no answer in time. */
    async function replaceToken(connectionId: ConnectionId, token: string): Promise<void> {
      await at.seal(connectionId, token);
      await at.pool.query(
        `UPDATE connection SET token_version = token_version + 1, phase = 'Unverified', project = NULL, verify_at = now()
         WHERE id = $1`,
        [connectionId],
      );
    }
    const untilConnected = (cluster: TestCluster, status: string, reason: string) =>
      untilRow(at, cluster.id, ({ conditions }) =>
        conditions.some((each) => each.type === 'ConnectionReady' && each.status === status && each.reason === reason),
      );

    it('that the provider rejects is not written, and the next one is taken up', async () => {
      const token = 'no-token-of-any-project';
      const project = { reachable: false, readOnly: null };
      const cluster = await aReadyCluster(reconciler);
      const { connectionId } = cluster;

      await replaceToken(connectionId, token);
      const row = await untilConnected(cluster, 'False', 'ProviderTokenRejected');

      expect(JSON.stringify(row.conditions)).not.toContain(token);
      expect(await connection(connectionId)).toMatchObject({ phase: 'Rejected', garden_token_version: 1, project });

      await replaceToken(connectionId, OTHER_TOKEN);

      await untilConnected(cluster, 'True', 'Verified');
      await waitFor('the token to be taken up', async () => {
        const { rows } = await at.pool.query('SELECT applied_token_version FROM cluster WHERE id = $1', [cluster.id]);
        return rows[0].applied_token_version === 3;
      });
      expect(await connection(connectionId)).toMatchObject({
        phase: 'Ready',
        garden_token_version: 3,
        verify_failures: 0,
      });
      await untilRow(at, cluster.id, ({ phase, due_at }) => phase === 'Ready' && due_at === null);
      expect(shootsEver((await at.row(cluster.id)).shoot_name)).toBe(1);
    });
  });
});

describe('a reconciler', () => {
  afterEach(stopAll);

  it('detects a Shoot that was removed while none ran', async () => {
    const first = await start();
    const cluster = await aReadyCluster(first);
    const [namespace, name] = await at.placeOf(cluster);
    await first.stop();

    at.cloud.admin.garden.vanishShoot(namespace, name);
    await start();

    const row = await untilRow(at, cluster.id, ({ phase }) => phase === 'Failed');
    expect(row.conditions).toContainEqual(expect.objectContaining({ type: 'ShootMissing' }));
    expect(shootsEver(name)).toBe(1);
  });

  it('makes no pass and no other call for unchanged clusters, for any number of lists', async () => {
    const reconciler = await start({ settings: { relistIntervalMs: 250 } });
    const clusters = await readyClusters(reconciler, 3);
    await untilWatching(reconciler);
    await untilChecked(clusters);
    // Clusters of other tests without an answer would be counted repeatedly.
    await at.pool.query('UPDATE cluster SET nodes_due_at = NULL');
    const calls = () => at.cloud.admin.calls().byRoute;
    // An earlier observation may still cause a pass. A round counts once that has ended.
    await waitFor('a round of lists that costs nothing else', async () => {
      const passes = await metric(reconciler, 'corral_reconcile_passes_total');
      at.cloud.admin.resetCalls();
      await waitFor('lists', () => (calls()['GET /apis/core.gardener.cloud/v1beta1/shoots'] ?? 0) >= 3);
      expect(Object.keys(calls()).filter((route) => route.includes('/shoots/:name'))).toEqual([]);
      expect(await metric(reconciler, 'corral_reconcile_passes_total')).toBe(passes);
      return true;
    });
  });

  it('leaves the garden alone during its outage, and no operation fails', async () => {
    const reconciler = await start();
    at.cloud.admin.addFaults({ match: { api: 'garden' }, times: null, effect: { status: 401 } });
    const clusters = await declare(6);
    await wakeAll(reconciler, clusters);
    await waitFor('a second pause', async () => (await metric(reconciler, 'corral_reconcile_pauses_total')) >= 2);

    const states = await Promise.all(clusters.map(async ({ operationId }) => (await at.operation(operationId)).state));
    expect(new Set(states)).toEqual(new Set(['queued']));
    await waitFor('the gate to have no place', async () => (await metric(reconciler, 'corral_reconcile_places')) === 0);
    // Passes that had entered before the first pause, and then one per pause. A pass is counted after the pause that it causes, and
    // read before it.
    const failed = await metric(reconciler, 'corral_reconcile_passes_total', /^failed/);
    const pauses = await metric(reconciler, 'corral_reconcile_pauses_total');
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThanOrEqual(clusters.length + pauses);
    at.cloud.admin.clearFaults();
    await expectSuccess(clusters);
  });

  it('is not delayed by a single cluster for which the garden fails', async () => {
    const reconciler = await start({ settings: { concurrency: 2 } });
    const poison = await declareOne();
    const { shoot_name } = await at.row(poison.id);
    at.cloud.admin.addFaults({
      match: { api: 'garden', path: `/shoots/${shoot_name}` },
      times: null,
      effect: { status: 500 },
    });
    await reconciler.wake(poison.id);
    await untilRow(at, poison.id, ({ failures }) => failures >= 2);

    const others = await declare(5);
    await wakeAll(reconciler, others);

    await expectSuccess(others);
    expect(await at.operation(poison.operationId)).toMatchObject({ state: expect.stringMatching(/queued|running/) });
    at.cloud.admin.clearFaults();
    await expectSuccess([poison]);
  });
});

describe('all clusters that wait for the garden continue after its return', () => {
  const FEW = 4;
  /**
   * Only the tested mechanism makes a cluster due: retries and lists are an hour away. The sweep recovers wake-ups that are
   * lost on a busy machine, as in production.
   */
  const SELDOM = { relistIntervalMs: HOUR_MS };
  let reconciler: Reconciler;
  afterEach(async () => {
    await reconciler.stop();
    await at.pool.query('DELETE FROM leadership');
  });

  /** Ready clusters without work in progress. */
  async function aFew(): Promise<TestCluster[]> {
    const maker = await at.start();
    const clusters = await readyClusters(maker, FEW);
    await maker.stop();
    return clusters;
  }

  /** A reconciler without one of the tasks that detect the garden's return: another process holds it and does nothing. */
  async function startWithout(task: 'watch-shoots' | 'probe-garden'): Promise<void> {
    await at.pool.query(
      `INSERT INTO leadership (name, holder, until) VALUES ($1, gen_random_uuid(), now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
      [task],
    );
    reconciler = await at.start({ settings: SELDOM });
  }

  /** Changes the clusters while the garden is unavailable. */
  async function change(clusters: readonly TestCluster[], fault: FaultRule): Promise<void> {
    at.cloud.admin.addFaults({ ...fault, times: null });
    if (fault.match?.path === undefined) at.cloud.admin.garden.dropWatches();
    for (const cluster of clusters) {
      await at.change(cluster, { pools: [{ name: 'general', maximum: 9 }] });
      await reconciler.wake(cluster.id);
    }
    for (const { id } of clusters) await untilLongWaiting(id);
  }

  /** After many failures its next pass would be an hour away. */
  async function untilLongWaiting(id: string): Promise<void> {
    await untilRow(at, id, ({ waiting }) => waiting?.reason === 'GardenUnavailable');
    await waitFor('a moment between two passes', async () => {
      const { rowCount } = await at.pool.query(
        `UPDATE cluster SET due_at = clock_timestamp() + interval '1 hour', failures = 12
       WHERE id = $1 AND lease_until IS NULL AND waiting IS NOT NULL`,
        [id],
      );
      return rowCount === 1;
    });
  }

  it.each<[string, 'watch-shoots' | 'probe-garden', FaultRule]>([
    ['the watch opens again', 'probe-garden', { match: { api: 'garden' }, effect: { reset: 'before' } }],
    [
      'the probe is answered, although the watch was never interrupted',
      'watch-shoots',
      { match: { api: 'garden', path: '/shoots/' }, effect: { status: 503 } },
    ],
  ])('when %s', async (_what, task, fault) => {
    const clusters = await aFew();
    await startWithout(task);
    await change(clusters, fault);

    at.cloud.admin.clearFaults();

    for (const { id } of clusters)
      await untilRow(at, id, ({ waiting, failures }) => waiting === null && failures === 0);
  });
});
