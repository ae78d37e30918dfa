import type { FaultRule } from '@corral/local-cloud';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, it } from '@jest/globals';
import type { TestCluster } from '../support/cluster-rows.js';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded, untilRow } from '../support/until.js';

const FEW = 4;
/**
 * Only the tested mechanism makes a cluster due: retries and lists are an hour away. The sweep recovers wake-ups that are
 * lost on a busy machine, as in production.
 */
const SELDOM = { sweepIntervalMs: 1_000, relistIntervalMs: 3_600_000 };

let at: Clusters;
let reconciler: Reconciler;
beforeAll(async () => {
  at = await startClusters();
});
afterEach(async () => {
  at.cloud.admin.clearFaults();
  await reconciler.stop();
  await at.pool.query('DELETE FROM leadership');
});
afterAll(() => at.close());

/** Ready clusters without work in progress. */
async function aFew(): Promise<TestCluster[]> {
  const { team, connectionId } = await at.addTeamWithConnection();
  const clusters: TestCluster[] = [];
  for (let made = 0; made < FEW; made += 1) clusters.push(await at.declare(team, connectionId));
  const maker = await at.start();
  for (const { id } of clusters) await maker.wake(id);
  for (const { operationId } of clusters) await untilEnded(at, operationId);
  await maker.stop();
  return clusters;
}

/** A reconciler without some of the tasks that detect the garden's return: another process holds them and does nothing. */
async function startWithout(...tasks: ('watch-shoots' | 'probe-garden')[]): Promise<void> {
  for (const task of tasks) {
    await at.pool.query(
      `INSERT INTO leadership (name, holder, until) VALUES ($1, gen_random_uuid(), now() + interval '1 hour')
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until`,
      [task],
    );
  }
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

async function expectToContinue(clusters: readonly TestCluster[]): Promise<void> {
  for (const { id } of clusters) await untilRow(at, id, ({ waiting, failures }) => waiting === null && failures === 0);
}

const away = { match: { api: 'garden' }, effect: { reset: 'before' } } as const;
/** Open watches stay open. */
const halfAway = { match: { api: 'garden', path: '/shoots/' }, effect: { status: 503 } } as const;

describe('all clusters that wait for the garden continue after its return', () => {
  it('when a pass of one of them got an answer', async () => {
    const clusters = await aFew();
    await startWithout('watch-shoots', 'probe-garden');
    await change(clusters, away);
    at.cloud.admin.clearFaults();

    const { id } = clusters[0] as TestCluster;
    await at.pass(id, 3_600_000);
    await waitFor('a pass of one of them', async () => {
      await reconciler.wake(id);
      return (await at.row(id)).waiting === null;
    });

    await expectToContinue(clusters);
  });

  it('when the watch opens again', async () => {
    const clusters = await aFew();
    await startWithout('probe-garden');
    await change(clusters, away);

    at.cloud.admin.clearFaults();

    await expectToContinue(clusters);
  });

  it('when the probe is answered, although the watch was never interrupted', async () => {
    const clusters = await aFew();
    await startWithout('watch-shoots');
    await change(clusters, halfAway);

    at.cloud.admin.clearFaults();

    await expectToContinue(clusters);
  });
});
