import { randomUUID } from 'node:crypto';
import { connectQueue } from '@corral/queue';
import { silentLog } from '@corral/service';
import { describeEachNeeding, missingRedis, redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { records, type TestTeam } from './support/dns/dns-rows.js';
import { type Reconciling, startReconciling, UPSTREAM_TOKEN, ZONE } from './support/dns/start-reconciling.js';
import { type ReconcilerProcess, startReconcilerProcess } from './support/start-process.js';

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

  it('syncs at its start, settles due writes, performs a requested run, and shuts down in order', async () => {
    at.cloud.admin.putRrset(ZONE, 'www.acme', 'A', { records: records('192.0.2.1') });
    const reconciler = await startReconciler();
    await waitFor('the first sync', async () => (await at.mirroredValues('www.acme')) !== null);
    const lost = await at.addLostWrite(acme, { name: 'www.acme', operation: 'delete', body: null });
    const queue = openQueue();
    const runId = randomUUID();

    await waitFor('the settlement', async () => (await at.getEntry(lost.entryId)).state === 'settled');
    await queue.send('zone-sync', { reason: 'request', runId });
    await waitFor('the requested run', async () => (await findRun(runId))?.finished_at);

    const metrics = await (await fetch(reconciler.metricsUrl)).text();
    expect(metrics).toMatch(/corral_dns_settlements_total\{.*outcome="not_applied".*\} 1/);
    expect(metrics).toMatch(/corral_dns_sync_age_seconds\{/);
    expect(await reconciler.stop()).toEqual({ code: 0, signal: null });
    expect(reconciler.output()).not.toContain(UPSTREAM_TOKEN);
    await queue.close();
  });

  it('leaves a hanging run to the next process on shutdown', async () => {
    at.cloud.admin.addFaults({ match: { path: '/rrsets' }, times: null, effect: { hang: true } });
    const first = await startReconciler({ DNS_SYNC_INTERVAL_MS: '1h' });
    const queue = openQueue();
    const runId = await waitFor('the sync of the start', async () => {
      const { rows } = await at.pool.query(`SELECT id FROM dns_sync_run WHERE state = 'running'`);
      return rows[0]?.id;
    });

    // It would be killed if it did not exit by itself.
    expect(await first.stop()).toEqual({ code: 0, signal: null });

    at.cloud.admin.clearFaults();
    await startReconciler({ DNS_SYNC_INTERVAL_MS: '1h' });
    await waitFor('a sync by the next process', async () => {
      const { rows } = await at.pool.query(`SELECT FROM dns_sync_run WHERE id = $1 AND state = 'succeeded'`, [runId]);
      return rows.length > 0;
    });
    await queue.close();
  });

  it('listens on the address in HOST', async () => {
    const reconciler = await startReconciler({ HOST: '127.0.0.1' });

    await waitFor('the log line with the address', () => reconciler.output().includes('"message":"listening"'));
    expect(reconciler.output()).toContain(`"url":"${reconciler.metricsUrl.replace('/metrics', '')}"`);
  });

  if (backend === 'Redis') {
    it('continues after Redis lost everything', async () => {
      await startReconciler();
      await waitFor('the zone', async () => (await at.pool.query('SELECT FROM dns_zone')).rowCount);
      const client = new Redis(redis?.url as string);
      await client.flushall();
      client.disconnect();
      const lost = await at.addLostWrite(acme, { name: 'late.acme', operation: 'delete', body: null });

      await waitFor('the settlement', async () => (await at.getEntry(lost.entryId)).state === 'settled');
    });
  }
});
