import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { connectQueue } from '@corral/queue';
import { silentLog } from '@corral/service';
import {
  describeEachNeeding,
  freePort,
  missingRedis,
  type RunningProcess,
  redisForTests,
  startProcess,
  type TestRedis,
  waitFor,
} from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { records, type TestTeam } from './support/dns-rows.js';
import { type Reconciling, startReconciling, UPSTREAM_TOKEN, ZONE } from './support/start-reconciling.js';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** For a process that must exit by itself: far longer than its grace period. */
const patient = { timeoutMs: 90_000 };
const backends = [
  { backend: 'Postgres', missing: null },
  { backend: 'Redis', missing: missingRedis() },
];

describeEachNeeding(describe, backends, 'the reconciler as a process, with jobs on $backend', ({ backend }) => {
  let at: Reconciling;
  let redis: TestRedis | null = null;
  let acme: TestTeam;
  const started: RunningProcess[] = [];

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
    const port = await freePort();
    const running = await startProcess({
      command: process.execPath,
      args: [main],
      env: {
        DATABASE_URL: at.databaseUrl,
        REDIS_URL: redis?.url,
        METRICS_PORT: String(port),
        DNS_ZONE_NAME: ZONE,
        HCLOUD_API_URL: at.cloud.apiUrl,
        HCLOUD_TOKEN: UPSTREAM_TOKEN,
        DNS_SETTLE_INTERVAL_MS: '200ms',
        SHUTDOWN_GRACE_MS: '8s',
        ...env,
      },
      readyUrl: `http://127.0.0.1:${port}/readyz`,
    });
    started.push(running);
    return { ...running, metricsUrl: `http://127.0.0.1:${port}/metrics` };
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
    expect(await reconciler.stop(patient)).toEqual({ code: 0, signal: null });
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
    expect(await first.stop(patient)).toEqual({ code: 0, signal: null });

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
