import { dueClusters } from '@corral/cluster-data';
import type { ClusterId } from '@corral/contracts';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Clusters, type Reconciler, startClusters } from '../support/start-clusters.js';
import { untilEnded } from '../support/until.js';

const HOUR_MS = 3_600_000;

let at: Clusters;
let reconciler: Reconciler;
beforeAll(async () => {
  at = await startClusters();
});
beforeEach(async () => {
  // No sweep finds what was lost.
  reconciler = await at.start({ settings: { sweepIntervalMs: HOUR_MS } });
  await waitFor('a process that listens', async () => (await listeners()) === 1);
});
afterEach(async () => {
  at.cloud.admin.clearFaults();
  await reconciler.stop();
});
afterAll(() => at.close());

const listeners = async (): Promise<number> => {
  const { rows } = await at.pool.query<{ listeners: number }>(
    `SELECT count(*)::int AS listeners FROM pg_stat_activity
     WHERE datname = current_database() AND query = 'LISTEN "${dueClusters}"'`,
  );
  return rows[0]?.listeners ?? 0;
};

/** As a commit of the cluster API does. */
const tell = (clusterId: ClusterId) => at.pool.query('SELECT pg_notify($1, $2)', [dueClusters, clusterId]);

async function declare() {
  const { team, connectionId } = await at.addTeamWithConnection();
  return at.declare(team, connectionId);
}

const openJobs = async (): Promise<number> => {
  const { rows } = await at.pool.query<{ jobs: number }>(
    `SELECT count(*)::int AS jobs FROM bullmq.job WHERE name = 'reconcile-cluster'`,
  );
  return rows[0]?.jobs ?? 0;
};

describe('a declaration that is told with its commit', () => {
  it('is carried out without a job', async () => {
    const cluster = await declare();

    await tell(cluster.id);

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
  });

  it('is carried out once, although its job arrives meanwhile, which ends immediately', async () => {
    at.cloud.admin.addFaults({ match: { api: 'garden', method: 'APPLY', path: '/shoots/' }, effect: { hang: true } });
    const cluster = await declare();
    await tell(cluster.id);
    await waitFor('the write to be under way', () => at.cloud.admin.faults()[0]?.remaining === 0);
    const { lease_fence: fence } = await at.row(cluster.id);

    await reconciler.wake(cluster.id);

    await waitFor('the job to end', async () => (await openJobs()) === 0);
    expect(await at.row(cluster.id)).toMatchObject({ lease_fence: fence });
  });

  it('is carried out although it came during a pass that has begun before it', async () => {
    at.cloud.admin.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      effect: { delayMs: 1_000 },
    });
    const cluster = await declare();
    await tell(cluster.id);
    await waitFor('the write to be under way', () => at.cloud.admin.faults()[0]?.remaining === 0);

    const change = await at.change(cluster, { pools: [{ name: 'general', maximum: 7 }] });
    await tell(cluster.id);
    await reconciler.wake(cluster.id);

    expect(await untilEnded(at, change.operationId)).toMatchObject({ state: 'succeeded', generation: 2 });
  });
});

describe('a process that stops', () => {
  it('listens no more', async () => {
    await reconciler.stop();

    await waitFor('its connection to be closed', async () => (await listeners()) === 0);
  });
});
