import { sharedStore, upstreamBudgetMetrics } from '@corral/admission';
import { connectPool, connectPrisma, databaseCheck, registerProcess, startCheck } from '@corral/database';
import { connectGarden, gardenCallMetrics } from '@corral/garden';
import { connectHcloud, connectProjects, readPrices, upstreamCallMetrics, verifyToken } from '@corral/hcloud';
import { buildMetricsApp, serve } from '@corral/http-api';
import { connectQueue } from '@corral/queue';
import {
  type Config,
  callGuard,
  createHealth,
  createLog,
  createMetrics,
  type Log,
  type Metrics,
  onShutdown,
  poolMetrics,
  readConfig,
  startOrExit,
  startTracing,
  tracingOptionsOf,
  webhookGuardOptions,
} from '@corral/service';
import { buildWorkers, type WorkerOptions } from './build-workers.js';
import { intervalsOf, reconcilerConfig } from './config.js';
import { connectMailServer } from './mail/connect-mail-server.js';
import { placeOf } from './mail/render-invitation.js';
import type { Services } from './services.js';

await startOrExit('reconciler', async () => {
  const service = 'reconciler';
  const config = readConfig(reconcilerConfig, process.env);
  const log = createLog({ level: config.LOG_LEVEL, service });
  const tracing = await startTracing({
    service,
    ...tracingOptionsOf(config),
    onError: (message) => log.warn('traces not sent', { reason: message }),
  });
  const metrics = createMetrics({ service });
  const pool = connectPool({
    databaseUrl: config.DATABASE_URL,
    applicationName: 'corral-reconciler',
    onIdleError: (error) => log.warn('database connection lost', { error }),
  });
  poolMetrics(metrics, { all: pool });
  const checkDatabase = databaseCheck({
    pool,
    databaseUrl: config.DATABASE_URL,
    applicationName: 'corral-reconciler readiness',
  });
  await startCheck(checkDatabase);
  const backend = { redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL };
  const queue = connectQueue({ ...backend, log });
  const prisma = connectPrisma(pool);
  const hcloud = connectHcloud({
    baseUrl: config.HCLOUD_API_URL,
    token: config.HCLOUD_TOKEN,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    waitMsMax: config.UPSTREAM_WAIT_MS,
    budgetStore: sharedStore(prisma),
    log,
    onCall: upstreamCallMetrics(metrics),
    onTurn: upstreamBudgetMetrics(metrics, () => hcloud.budget()),
  });
  const dns: WorkerOptions['dns'] = {
    hcloud,
    settings: {
      zoneName: config.DNS_ZONE_NAME,
      demoZoneName: config.DEMO_ZONE_NAME ?? null,
      actionIntervalMs: config.DNS_ACTION_INTERVAL_MS,
      actionRunningMsMax: config.ACTION_TIMEOUT_MS,
      graceMs: config.DNS_SETTLE_GRACE_MS,
      upstreamMsMax: config.UPSTREAM_WAIT_MS + config.UPSTREAM_TIMEOUT_MS,
    },
  };
  const retention: WorkerOptions['retention'] = { settings: { auditDays: config.AUDIT_RETENTION_DAYS } };
  const usage: WorkerOptions['usage'] = { settings: { recordsLimit: config.DNS_RECORDS_PER_TEAM } };
  const clusters = clusterDeps(config, metrics, log);
  const servers = serverDeps(config, clusters);
  const mail = mailDeps(config);
  const webhooks = webhookDeps(config);
  const settings = { closeMs: config.SHUTDOWN_GRACE_MS / 2, lockMs: config.JOB_LOCK_MS };
  const services: Services = { pool, prisma, queue, metrics, log };
  const workers = buildWorkers(services, {
    settings,
    intervals: intervalsOf(config),
    backend,
    dns,
    retention,
    usage,
    clusters,
    servers,
    mail,
    webhooks,
  });
  const health = createHealth({
    // The garden is left out: during its outage the other loops continue, and the cluster loop recovers by itself.
    checks: { database: checkDatabase, queue: () => queue.ping() },
    log,
    metrics,
  });
  const served = await serve({
    app: buildMetricsApp(metrics, health, log),
    host: config.HOST,
    port: config.METRICS_PORT,
    shutdownGraceMs: 1_000,
    metrics,
    health,
    log,
  });
  const processes = await registerProcess({
    pool,
    service,
    onError: (error) => log.warn('number of processes not renewed', { error }),
  });
  const worker = workers.start();
  onShutdown({ log, graceMs: config.SHUTDOWN_GRACE_MS }, [
    { name: 'jobs', close: () => worker.close() },
    { name: 'queue', close: () => queue.close() },
    { name: 'upstream', close: () => hcloud.close() },
    { name: 'garden', close: () => clusters?.garden.close() },
    { name: 'process register', close: () => processes.close() },
    { name: 'database', close: () => pool.end() },
    { name: 'metrics', close: () => served.close() },
    { name: 'traces', close: tracing.close },
  ]);
});

/** Null without the keys that decrypt the tokens of connections. */
function serverDeps(
  config: Config<typeof reconcilerConfig>,
  clusters: WorkerOptions['clusters'],
): WorkerOptions['servers'] {
  const { SECRET_KEYS: keys } = config;
  if (keys === undefined) return null;
  return {
    keys,
    nodes: clusters?.garden.nodes ?? null,
    projects: connectProjects({ baseUrl: config.HCLOUD_API_URL, timeoutMs: config.UPSTREAM_TIMEOUT_MS }),
    settings: {
      concurrency: config.SERVER_CONCURRENCY,
      leaseMs: config.RECONCILE_LEASE_MS,
      image: config.SERVER_IMAGE,
      times: {
        // A call that may still be in progress must not be treated as one that never arrived.
        rebuildGraceMs: Math.max(config.SERVER_REBUILD_GRACE_MS, 2 * config.UPSTREAM_TIMEOUT_MS),
        adoptionMsMax: config.SERVER_ADOPTION_MAX_MS,
        joinMsMax: config.SERVER_JOIN_MS,
        commandMsMax: config.SERVER_COMMAND_MS,
        drainMsMax: config.SERVER_DRAIN_MS,
      },
    },
  };
}

/** Null without the keys that decrypt the secrets of webhooks. */
function webhookDeps(config: Config<typeof reconcilerConfig>): WorkerOptions['webhooks'] {
  const { SECRET_KEYS: keys } = config;
  return keys === undefined ? null : { keys, guard: callGuard(webhookGuardOptions(config)) };
}

/** Null without a mail server. */
function mailDeps({
  SMTP_URL: url,
  MAIL_FROM: from,
  CONSOLE_ENABLED: consoleEnabled,
  CONSOLE_URL: consoleUrl,
  CLUSTER_API_URL: apiUrl,
  MAIL_TIMEOUT_MS: timeoutMs,
}: Config<typeof reconcilerConfig>): WorkerOptions['mail'] {
  const place = placeOf({ consoleUrl, apiUrl, consoleEnabled });
  if (url === undefined || from === undefined || place === null) return null;
  return { settings: { place }, mailServer: connectMailServer({ url, from, timeoutMs }) };
}

/** Null without the address of the DNS API. No name is put on clusters then. */
function placeOfNames({ DNS_API_URL: endpoint, DNS_ZONE_NAME: zone, ACME_URL }: Config<typeof reconcilerConfig>) {
  return endpoint === undefined ? null : { zone, endpoint: endpoint.replace(/\/+$/, ''), acmeServer: ACME_URL };
}

/** Null without a garden. Clusters are not reconciled then. */
function clusterDeps(config: Config<typeof reconcilerConfig>, metrics: Metrics, log: Log): WorkerOptions['clusters'] {
  const { SECRET_KEYS: keys, GARDEN_KUBECONFIG: kubeconfigPath } = config;
  if (keys === undefined || (kubeconfigPath === undefined && !config.GARDEN_IN_CLUSTER)) {
    log.info('no garden: clusters are left alone');
    return null;
  }
  return {
    keys,
    garden: connectGarden({
      kubeconfigPath,
      cloudProfileName: config.GARDEN_CLOUD_PROFILE,
      timeoutMs: config.GARDEN_TIMEOUT_MS,
      log,
      onCall: gardenCallMetrics(metrics),
    }),
    verifyToken: (token) =>
      verifyToken({ baseUrl: config.HCLOUD_API_URL, token, timeoutMs: config.UPSTREAM_TIMEOUT_MS }),
    readPrices: (token) => readPrices({ baseUrl: config.HCLOUD_API_URL, token, timeoutMs: config.UPSTREAM_TIMEOUT_MS }),
    settings: {
      concurrency: config.RECONCILE_CONCURRENCY,
      leaseMs: config.RECONCILE_LEASE_MS,
      relistIntervalMs: config.GARDEN_RELIST_INTERVAL_MS,
      nodeCountIntervalMs: config.NODE_COUNT_INTERVAL_MS,
      networkingType: config.GARDEN_NETWORKING_TYPE,
      features: new Set(config.GARDEN_FEATURES),
      names: placeOfNames(config),
    },
  };
}
