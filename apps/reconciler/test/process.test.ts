import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectQueue, type Queue } from '@corral/queue';
import { KeyRing } from '@corral/secrets';
import { silentLog } from '@corral/service';
import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { clusterRows, type TestCluster } from './support/cluster-rows.js';
import { records, type TestTeam } from './support/dns/dns-rows.js';
import { type Reconciling, startReconciling, UPSTREAM_TOKEN, ZONE } from './support/dns/start-reconciling.js';
import { type Clusters, PROJECT_TOKEN, startClusters } from './support/start-clusters.js';
import { type ReconcilerProcess, startReconcilerProcess } from './support/start-process.js';
import { untilEnded } from './support/until.js';

describe('process', () => {
  const backends = [
    { backend: 'Postgres', missing: null },
    { backend: 'Redis', missing: missingRedis() },
  ];

  describeEachNeeding(describe, backends, 'the reconciler as a process, with jobs on $backend', ({ backend }) => {
    let at: Reconciling;
    let redis: TestRedis | null = null;
    let acme: TestTeam;
    const started: ReconcilerProcess[] = [];

    beforeAll(async () => {
      if (backend === 'Redis') redis = await redisForTests();
      at = await startReconciling();
      acme = await at.addTeam('acme');
    });
    afterEach(async () => {
      at.cloud.admin.clearFaults();
      await Promise.all(started.splice(0).map((running) => running.stop()));
    });
    afterAll(async () => {
      await at.stop();
      await redis?.stop();
    });

    const startReconciler = async (env: Record<string, string> = {}) => {
      const running = await startReconcilerProcess({
        DATABASE_URL: at.databaseUrl,
        REDIS_URL: redis?.url,
        HCLOUD_API_URL: at.cloud.apiUrl,
        DNS_SETTLE_INTERVAL_MS: '200ms',
        ...env,
      });
      started.push(running);
      return running;
    };
    const openQueue = () => connectQueue({ redisUrl: redis?.url, databaseUrl: at.databaseUrl, log: silentLog });
    const findRun = async (runId: string) =>
      (await at.pool.query('SELECT * FROM dns_sync_run WHERE id = $1', [runId])).rows[0];

    it('syncs at its start, settles due writes, performs a requested run, leaves clusters alone, and shuts down in order', async () => {
      const clusters = clusterRows(at.pool);
      const cluster = await clusters.declare(acme, await clusters.addConnection(acme));
      at.cloud.admin.putRrset(ZONE, 'www.acme', 'A', { records: records('192.0.2.1') });
      const reconciler = await startReconciler({ HOST: '127.0.0.1' });
      await waitFor('the first sync', async () => (await at.mirroredValues('www.acme')) !== null);
      if (redis !== null) {
        const client = new Redis(redis.url);
        await client.flushall();
        client.disconnect();
      }
      const lost = await at.addLostWrite(acme, { name: 'www.acme', operation: 'delete', body: null });
      const queue = openQueue();
      const runId = randomUUID();
      await queue.send('reconcile-cluster', { clusterId: cluster.id }, { jobId: cluster.id });

      await waitFor('the settlement', async () => (await at.getEntry(lost.entryId)).state === 'settled');
      at.cloud.admin.putRrset(ZONE, 'by-hand.acme', 'A', { records: records('192.0.2.77') });
      await queue.send('zone-sync', { reason: 'request', runId });
      await waitFor('the requested run', async () => (await findRun(runId))?.finished_at);

      const metrics = await (await fetch(reconciler.metricsUrl)).text();
      expect(metrics).toMatch(/corral_dns_settlements_total\{.*outcome="not_applied".*\} 1/);
      expect(metrics).toMatch(/corral_dns_sync_age_seconds\{/);
      expect(await reconciler.stop()).toEqual({ code: 0, signal: null });
      expect(reconciler.output()).toContain(`"url":"${reconciler.metricsUrl.replace('/metrics', '')}"`);
      expect(reconciler.output()).toContain('no garden: clusters are left alone');
      expect(await clusters.row(cluster.id)).toMatchObject({ lease_fence: 0, is_due: true });
      // A change by hand is logged without its values.
      expect(reconciler.output()).toMatch(/"message":"drift".*"by-hand\.acme"|"by-hand\.acme".*"message":"drift"/);
      for (const secret of [UPSTREAM_TOKEN, '192.0.2.77']) expect(reconciler.output()).not.toContain(secret);
      await queue.close();
    });

    if (backend === 'Postgres') {
      it('leaves a hanging run to the next process on shutdown', async () => {
        at.cloud.admin.addFaults({ match: { path: '/rrsets' }, times: null, effect: { hang: true } });
        const first = await startReconciler({ DNS_SYNC_INTERVAL_MS: '1h' });
        const runId = await waitFor('the sync of the start', async () => {
          const { rows } = await at.pool.query(`SELECT id FROM dns_sync_run WHERE state = 'running'`);
          return rows[0]?.id;
        });

        // It would be killed if it did not exit by itself.
        expect(await first.stop()).toEqual({ code: 0, signal: null });

        at.cloud.admin.clearFaults();
        await startReconciler({ DNS_SYNC_INTERVAL_MS: '1h' });
        await waitFor('a sync by the next process', async () => {
          const { rows } = await at.pool.query(`SELECT FROM dns_sync_run WHERE id = $1 AND state = 'succeeded'`, [
            runId,
          ]);
          return rows.length > 0;
        });
      });
    }
  });
});

describe('the reconciler as a process with a garden', () => {
  const KEY = Buffer.alloc(32, 7);

  let at: Clusters;
  let queue: Queue;
  const started: ReconcilerProcess[] = [];
  beforeAll(async () => {
    at = await startClusters({}, KEY);
    queue = connectQueue({ databaseUrl: at.url, log: silentLog });
  });
  afterEach(async () => {
    at.cloud.admin.clearFaults();
    await Promise.all(started.splice(0).map((running) => running.stop()));
  });
  afterAll(async () => {
    await queue.close();
    await at.close();
  });

  async function startReconciler(env: Record<string, string> = {}) {
    const kubeconfig = join(tmpdir(), `garden-${process.pid}.kubeconfig`);
    await writeFile(kubeconfig, at.cloud.gardenKubeconfigs.reconciler, { mode: 0o600 });
    const running = await startReconcilerProcess({
      DATABASE_URL: at.url,
      HCLOUD_API_URL: at.cloud.apiUrl,
      GARDEN_KUBECONFIG: kubeconfig,
      SECRET_KEYS: `k1:${KEY.toString('base64')}`,
      RECONCILE_LEASE_MS: '2s',
      RECONCILE_SWEEP_INTERVAL_MS: '500ms',
      CONNECTION_VERIFY_INTERVAL_MS: '500ms',
      ...env,
    });
    started.push(running);
    return running;
  }

  async function declare(): Promise<TestCluster> {
    const { team, connectionId } = await at.addTeamWithConnection();
    const cluster = await at.declare(team, connectionId);
    await queue.send('reconcile-cluster', { clusterId: cluster.id }, { jobId: cluster.id });
    return cluster;
  }

  it('creates a cluster, verifies a connection, exports metrics, logs no secrets, and shuts down in order', async () => {
    const newer = { id: 'k2', bytes: Buffer.alloc(32, 8) };
    const secretKeys = [`k2:${newer.bytes.toString('base64')}`, `k1:${KEY.toString('base64')}`].join(',');
    const reconciler = await startReconciler({ LOG_LEVEL: 'debug', SECRET_KEYS: secretKeys });
    const cluster = await declare();

    // Its token was sealed again, with the newer key.
    const { connectionId } = await at.addTeamWithConnection();
    await at.seal(connectionId, PROJECT_TOKEN, new KeyRing([newer]));
    await at.pool.query(`UPDATE connection SET phase = 'Unverified', verify_at = now() WHERE id = $1`, [connectionId]);

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    await waitFor('the verification', async () => {
      const { rows } = await at.pool.query('SELECT phase FROM connection WHERE id = $1', [connectionId]);
      return rows[0].phase === 'Ready';
    });

    const metrics = await (await fetch(reconciler.metricsUrl)).text();
    expect(metrics).toMatch(/corral_reconcile_passes_total\{.*outcome="finished".*\} \d/);
    expect(metrics).toMatch(/corral_reconcile_due_age_seconds\{.*\} 0/);
    expect(metrics).toMatch(/corral_reconcile_due\{kind="cluster".*\} \d/);
    expect(metrics).toMatch(/corral_reconcile_due\{kind="server".*\} 0/);
    expect(metrics).toMatch(/corral_reconcile_sweep_found_total\{.*\} \d/);
    expect(await reconciler.stop()).toEqual({ code: 0, signal: null });
    expect(reconciler.output()).toContain('pass done');
    expect(reconciler.output()).not.toContain(PROJECT_TOKEN);
    for (const { bytes } of [newer, { bytes: KEY }])
      expect(reconciler.output()).not.toContain(bytes.toString('base64'));
  });

  it('stops in the middle of a pass while the garden hangs, and another one takes over the cluster and the watch', async () => {
    const first = await startReconciler({ GARDEN_TIMEOUT_MS: '60s' });
    at.cloud.admin.resetCalls();
    at.cloud.admin.addFaults({
      match: { api: 'garden', method: 'APPLY', path: '/shoots/' },
      effect: { hang: true },
    });
    const cluster = await declare();
    const applied = () => Object.keys(at.cloud.admin.calls().byRoute).filter((route) => /^APPLY .*shoots/.test(route));
    await waitFor('the Shoot to be applied', () => applied().length > 0);
    await startReconciler();

    // It would be killed if it did not exit by itself.
    expect(await first.stop()).toEqual({ code: 0, signal: null });

    expect(await untilEnded(at, cluster.operationId)).toMatchObject({ state: 'succeeded' });
    const { shoot_name: name } = await at.row(cluster.id);
    expect(at.cloud.admin.garden.shootHistory().filter((life) => life.name === name)).toHaveLength(1);
  });
});
