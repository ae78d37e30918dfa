import { dnsTokenVerifier, lastUsedRecorder } from '@corral/auth';
import { dnsLimits } from '@corral/contracts';
import { connectPool } from '@corral/database';
import { answeredRecorder, mirrorStore, writeLedger } from '@corral/dns-mirror';
import { connectHcloud, upstreamCallMetrics } from '@corral/hcloud';
import { createHealth, createLog, createMetrics, onShutdown, readConfig, serve, startOrExit } from '@corral/service';
import { buildApp } from './build-app.js';
import { dnsGatewayConfig } from './config.js';
import { renderClientError } from './http/client-error.js';
import { connectBuckets } from './limits/connect-buckets.js';

const SERVICE = 'dns-gateway';
/** For how long an answer that never reached its client waits for the client's next try. */
const REPLAY_MS = 60_000;
/** What a write needs beside the upstream call before its lease may run out. */
const LEASE_MARGIN_MS = 5_000;

await startOrExit(SERVICE, async () => {
  const config = readConfig(dnsGatewayConfig, process.env);
  const log = createLog({ level: config.LOG_LEVEL, service: SERVICE });
  const metrics = createMetrics({ service: SERVICE });
  const report = (what: string) => (error: Error) => log.warn(what, { error });

  const pool = connectPool({
    databaseUrl: config.DATABASE_URL,
    applicationName: SERVICE,
    connectionsMax: config.DATABASE_CONNECTIONS,
    onIdleError: report('database connection lost'),
  });
  const verifier = dnsTokenVerifier({
    pool,
    databaseUrl: config.DATABASE_URL,
    applicationName: `${SERVICE} tokens`,
    onListenError: report('token notifications interrupted'),
  });
  const upstream = connectHcloud({
    baseUrl: config.HCLOUD_API_URL,
    token: config.HCLOUD_TOKEN,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    waitMsMax: config.UPSTREAM_WAIT_MS,
    log,
    onCall: upstreamCallMetrics(metrics),
  });
  const ledger = writeLedger(pool, {
    quota: { recordsPerTeam: config.DNS_RECORDS_PER_TEAM, recordsPerRrset: dnsLimits.recordsPerRrset },
    leaseMs: config.UPSTREAM_WAIT_MS + config.UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS,
    replayMs: REPLAY_MS,
  });
  const answered = answeredRecorder(ledger, REPLAY_MS, report('deliveries not recorded'));
  const lastUsed = lastUsedRecorder(pool, report('last use of tokens not recorded'));
  const buckets = connectBuckets(config.REDIS_URL, report('request limits count per process'));
  const mirror = mirrorStore(pool);
  const health = createHealth({
    checks: {
      database: () => pool.query('SELECT 1'),
      zone: async () => {
        if ((await mirror.findZone(config.DNS_ZONE_NAME)) === null) throw new Error('the zone was not synced yet');
      },
    },
    log,
  });
  const app = buildApp({
    config: {
      zoneName: config.DNS_ZONE_NAME,
      publicUrl: config.PUBLIC_URL ?? '/v1',
      trustProxy: config.TRUST_PROXY,
      limits: {
        perAddressPerMinute: config.LIMIT_PER_ADDRESS,
        perTokenPerMinute: config.LIMIT_PER_TOKEN,
        perTeamPerMinute: config.LIMIT_PER_TEAM,
      },
      turnMsMax: config.WRITE_TURN_MS,
      settleAfterMs: config.SETTLE_AFTER_MS,
      actionPollMs: config.ACTION_POLL_MS,
      actionRunningMsMax: config.ACTION_TIMEOUT_MS,
    },
    ...{ pool, ledger, upstream, verifier, lastUsed, answered, buckets, health, metrics, log },
  });

  const server = await serve({
    app,
    host: config.HOST,
    port: config.PORT,
    metricsPort: config.METRICS_PORT,
    metrics,
    health,
    log,
    shutdownGraceMs: config.SHUTDOWN_GRACE_MS,
    onClientError: renderClientError,
  });
  onShutdown({ log, graceMs: config.SHUTDOWN_GRACE_MS + LEASE_MARGIN_MS }, [
    { name: 'server', close: server.close },
    { name: 'deliveries', close: answered.close },
    { name: 'last use', close: lastUsed.close },
    { name: 'request limits', close: buckets.close },
    { name: 'token notifications', close: verifier.close },
    { name: 'upstream', close: upstream.close },
    { name: 'database', close: () => pool.end() },
  ]);
});
