import { connectPool } from '@corral/database';
import { connectHcloud, upstreamCallMetrics } from '@corral/hcloud';
import { connectQueue } from '@corral/queue';
import {
  buildMetricsApp,
  createHealth,
  createLog,
  createMetrics,
  onShutdown,
  readConfig,
  serve,
  startOrExit,
} from '@corral/service';
import { buildWorkers } from './build-workers.js';
import { reconcilerConfig } from './config.js';

await startOrExit('reconciler', async () => {
  const service = 'reconciler';
  const config = readConfig(reconcilerConfig, process.env);
  const log = createLog({ level: config.LOG_LEVEL, service });
  const metrics = createMetrics({ service });
  const pool = connectPool({
    databaseUrl: config.DATABASE_URL,
    applicationName: 'corral-reconciler',
    onIdleError: (error) => log.warn('database connection lost', { error }),
  });
  const backend = { redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL };
  const queue = connectQueue({ ...backend, log });
  const hcloud = connectHcloud({
    baseUrl: config.HCLOUD_API_URL,
    token: config.HCLOUD_TOKEN,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    waitMsMax: config.UPSTREAM_WAIT_MS,
    log,
    onCall: upstreamCallMetrics(metrics),
  });
  const settings = {
    zoneName: config.DNS_ZONE_NAME,
    syncIntervalMs: config.DNS_SYNC_INTERVAL_MS,
    settleIntervalMs: config.DNS_SETTLE_INTERVAL_MS,
    graceMs: config.DNS_SETTLE_GRACE_MS,
    upstreamReadMsMax: config.UPSTREAM_WAIT_MS + config.UPSTREAM_TIMEOUT_MS,
    closeMs: config.SHUTDOWN_GRACE_MS / 2,
    lockMs: config.JOB_LOCK_MS,
  };
  const workers = buildWorkers({ settings, pool, queue, backend, hcloud, metrics, log });
  const health = createHealth({
    checks: { database: () => pool.query('SELECT 1'), queue: () => queue.ping() },
    log,
  });
  const served = await serve({
    app: buildMetricsApp(metrics, health),
    port: config.METRICS_PORT,
    shutdownGraceMs: 1_000,
    ...{ metrics, health, log },
  });
  const worker = workers.start();
  onShutdown({ log, graceMs: config.SHUTDOWN_GRACE_MS }, [
    { name: 'jobs', close: () => worker.close() },
    { name: 'queue', close: () => queue.close() },
    { name: 'upstream', close: () => hcloud.close() },
    { name: 'database', close: () => pool.end() },
    { name: 'metrics', close: () => served.close() },
  ]);
});
