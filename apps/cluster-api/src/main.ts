import { connectBuckets, connectBudgetStore, systemClock } from '@corral/admission';
import {
  accountTokenUseRecorder,
  accountVerifier,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
} from '@corral/auth';
import { connectPool, registerProcess } from '@corral/database';
import { connectGarden, gardenCallMetrics } from '@corral/garden';
import { connectProjects, verifyToken } from '@corral/hcloud';
import { clientErrorRenderer, serve, serverOptionsOf } from '@corral/http-api';
import { connectQueue } from '@corral/queue';
import {
  createHealth,
  createLog,
  createMetrics,
  onShutdown,
  poolMetrics,
  startOrExit,
  startTracing,
  tracingOptionsOf,
} from '@corral/service';
import { buildApp } from './build-app.js';
import { appConfigOf, readClusterApiConfig } from './config.js';
import { connectDatabase } from './connect-database.js';
import { listenToTeamEvents } from './events/handlers.js';
import { problemShape } from './http/error-shape.js';
import { oidcClient } from './people/oidc-client.js';
import { oidcSettings } from './people/oidc-config.js';
import { recordRefusals } from './tokens/exchange-store.js';
import { issuerCalls } from './tokens/issuer-calls.js';
import { issuerKeys } from './tokens/issuer-keys.js';
import { refusalLog } from './tokens/refusal-log.js';

const SERVICE = 'cluster-api';
/** Short because a request waits for the provider's answer. */
const PROVIDER_MS_MAX = 3_000;
/** Less than the statement timeout, so the answer names the lock of another replica, not an unavailable database. */
const LOCK_WAIT_MS = 4_000;
/** Time for closing everything else after the last request has ended. */
const CLOSE_MARGIN_MS = 5_000;

await startOrExit(SERVICE, async () => {
  const config = readClusterApiConfig(process.env);
  const log = createLog({ level: config.LOG_LEVEL, service: SERVICE });
  const tracing = await startTracing({
    service: SERVICE,
    ...tracingOptionsOf(config),
    onError: (message) => log.warn('traces not sent', { reason: message }),
  });
  const metrics = createMetrics({ service: SERVICE });
  const report = (what: string) => (error: Error) => log.warn(what, { error });
  if (config.DEV_SIGN_IN)
    log.warn('development sign-in is on: every user of this machine can sign in as any person', {
      variable: 'DEV_SIGN_IN',
    });

  const database = connectDatabase({
    databaseUrl: config.DATABASE_URL,
    applicationName: SERVICE,
    connections: config.DATABASE_CONNECTIONS,
    lockTimeoutMs: LOCK_WAIT_MS,
    onIdleError: report('database connection lost'),
  });
  const { pool, prisma, changes } = database;
  poolMetrics(metrics, { reads: pool, changes: changes.pool });
  const times = { idleMs: config.SESSION_IDLE_MS, absoluteMs: config.SESSION_MAX_MS };
  const sessionUse = sessionUseRecorder(pool, times, report('use of sessions not recorded'));
  const accountUse = accountTokenUseRecorder(pool, report('use of tokens not recorded'));
  const refusals = refusalLog({
    write: recordRefusals(prisma),
    after: systemClock.after,
    onError: report('refused token exchanges not recorded'),
  });
  const queue = connectQueue({ redisUrl: config.REDIS_URL, databaseUrl: config.DATABASE_URL, log });
  const garden = connectGarden({
    kubeconfigPath: config.GARDEN_KUBECONFIG,
    cloudProfileName: config.GARDEN_CLOUD_PROFILE,
    timeoutMs: config.GARDEN_TIMEOUT_MS,
    log,
    onCall: gardenCallMetrics(metrics),
  });
  const budgets = connectBudgetStore({
    redisUrl: config.REDIS_URL,
    run: (statement) => pool.query(statement),
    onError: report('upstream budget: Redis connection lost'),
  });
  // A connection reserved for it, so the readiness check does not fail while requests wait for connections.
  const readiness = connectPool({
    databaseUrl: config.DATABASE_URL,
    applicationName: `${SERVICE} readiness`,
    connectionsMax: 1,
    onIdleError: report('database connection of the readiness check lost'),
  });
  const processes = await registerProcess({
    pool: readiness,
    service: SERVICE,
    onError: report('number of cluster API processes not renewed'),
  });
  const buckets = connectBuckets({
    redisUrl: config.REDIS_URL,
    processes: processes.count,
    onError: report('each process grants its part of the request limits'),
  });
  // Does not check garden, provider and Redis, because most requests need none of them.
  const health = createHealth({ checks: { database: () => readiness.query('SELECT 1') }, log });

  const oidc = oidcSettings(config);
  const calls = issuerCalls({ privateHosts: config.TRUSTED_ISSUER_HOSTS, allowLoopback: config.DEV_SIGN_IN });
  const eventNotifications = listenToTeamEvents({
    databaseUrl: config.DATABASE_URL,
    applicationName: SERVICE,
    onError: report('notifications of live changes interrupted'),
  });
  let listening: string | undefined;
  const configured = config.PUBLIC_URL?.replace(/\/+$/, '');
  const publicUrl = () => configured ?? listening ?? `http://localhost:${config.PORT}`;
  const app = buildApp({
    config: appConfigOf(config, database.connections, publicUrl),
    prisma,
    pool,
    changes,
    sessionUse,
    accounts: accountVerifier(pool),
    accountUse,
    queue,
    garden,
    buckets,
    budgets,
    health,
    metrics,
    log,
    sessions: sessionStore(pool, times),
    codes: signInCodeStore(pool, times),
    secrets: config.SECRET_KEYS,
    eventNotifications: eventNotifications.subscribe,
    oidc: oidc === null ? null : oidcClient(oidc),
    issuerCalls: calls,
    issuerKeys: issuerKeys({ calls }),
    refusals,
    now: Date.now,
    verifyToken: (token) => verifyToken({ baseUrl: config.HCLOUD_API_URL, token }),
    projects: connectProjects({ baseUrl: config.HCLOUD_API_URL, timeoutMs: PROVIDER_MS_MAX }),
  });

  const server = await serve({
    app,
    health,
    metrics,
    log,
    ...serverOptionsOf(config),
    onClientError: clientErrorRenderer(problemShape(publicUrl)),
  });
  listening = server.url;
  onShutdown({ log, graceMs: config.DRAIN_DELAY_MS + config.SHUTDOWN_GRACE_MS + CLOSE_MARGIN_MS }, [
    { name: 'server', close: server.close },
    { name: 'notifications of live changes', close: eventNotifications.close },
    { name: 'use of sessions', close: sessionUse.close },
    { name: 'use of tokens', close: accountUse.close },
    { name: 'refused token exchanges', close: refusals.close },
    { name: 'request limits', close: buckets.close },
    { name: 'upstream budget', close: budgets.close },
    { name: 'queue', close: queue.close },
    { name: 'garden', close: garden.close },
    { name: 'process register', close: processes.close },
    { name: 'database', close: () => Promise.all([database.close(), readiness.end()]) },
    { name: 'traces', close: tracing.close },
  ]);
});
