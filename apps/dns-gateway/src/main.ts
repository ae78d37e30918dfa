import { sharedStore, upstreamBudgetMetrics } from '@corral/admission';
import { dnsTokenVerifier, lastUsedRecorder, requestCounter } from '@corral/auth';
import { dnsLimits, retentionLimits } from '@corral/contracts';
import { connectPrisma } from '@corral/database';
import { answeredRecorder, mirrorStore, writeLedger } from '@corral/dns-data';
import { connectHcloud, upstreamCallMetrics, upstreamWriteMetrics } from '@corral/hcloud';
import { startService } from '@corral/http-api';
import { type Config, readConfig } from '@corral/service';
import { buildApp } from './build-app.js';
import { dnsGatewayConfig } from './config.js';
import { dnsErrors } from './http/error-shape.js';
import { nameServers } from './name-servers.js';
import type { DemoConfig } from './services.js';

/** How long an undelivered answer is kept for the client's retry, in milliseconds. */
const REPLAY_MS = retentionLimits.replaySeconds * 1_000;
/** Time that a write needs besides the upstream call before its lease may end, in milliseconds. */
const LEASE_MARGIN_MS = 5_000;

const service = {
  name: 'dns-gateway',
  readConfig: (env: NodeJS.ProcessEnv) => readConfig(dnsGatewayConfig, env),
  second: 'writes',
  closeMarginMs: LEASE_MARGIN_MS,
};

await startService(service, (config, { log, metrics, report, pool, secondPool, connections, readiness, buckets }) => {
  const verifier = dnsTokenVerifier({
    pool,
    databaseUrl: config.DATABASE_URL,
    applicationName: `${service.name} tokens`,
    onListenError: report('token notifications interrupted'),
  });
  const prisma = connectPrisma(pool);
  const upstream = connectHcloud({
    baseUrl: config.HCLOUD_API_URL,
    token: config.HCLOUD_TOKEN,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    waitMsMax: config.UPSTREAM_WAIT_MS,
    budgetStore: sharedStore(prisma),
    log,
    onCall: upstreamCallMetrics(metrics),
    onWrite: upstreamWriteMetrics(metrics),
    onTurn: upstreamBudgetMetrics(metrics, () => upstream.budget()),
  });
  const quota = {
    recordsPerTeam: config.DNS_RECORDS_PER_TEAM,
    recordsPerDemo: dnsLimits.recordsPerDemo,
    recordsPerRrset: dnsLimits.recordsPerRrset,
  };
  const writePrisma = connectPrisma(secondPool);
  const ledger = writeLedger(writePrisma, {
    quota,
    leaseMs: config.UPSTREAM_WAIT_MS + config.UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS,
    replayMs: REPLAY_MS,
  });
  const answered = answeredRecorder(writePrisma, REPLAY_MS, report('deliveries not recorded'));
  const lastUsed = lastUsedRecorder(pool, report('last use of tokens not recorded'));
  const requests = requestCounter(pool, report('requests of teams not counted'));
  const demos = demoConfig(config);
  const zones = mirrorStore(readiness);
  return {
    checks: {
      zone: async () => {
        for (const name of [config.DNS_ZONE_NAME, ...(demos === null ? [] : [demos.zoneName])]) {
          if ((await zones.findZone(name)) === null) throw new Error(`the zone ${name} was not synced yet`);
        }
      },
    },
    buildApp: (health) =>
      buildApp({
        config: {
          zoneName: config.DNS_ZONE_NAME,
          demos,
          quota,
          publicUrl: config.PUBLIC_URL ?? null,
          trustProxy: config.TRUST_PROXY,
          consoleOrigins: config.CONSOLE_ORIGINS,
          securityContact: config.SECURITY_CONTACT,
          limits: {
            perAddressPerMinute: config.LIMIT_PER_ADDRESS,
            actionReadsPerTokenPerMinute: dnsLimits.actionReadsPerTokenPerMinute,
            perTokenPerMinute: config.LIMIT_PER_TOKEN,
            perTeamPerMinute: config.LIMIT_PER_TEAM,
          },
          requestsInFlightMax: config.REQUESTS_IN_FLIGHT_MAX,
          readConnections: connections.reads,
          writeWaitMs: config.WRITE_WAIT_MS,
          readWaitMs: config.READ_WAIT_MS,
          settleAfterMs: config.SETTLE_AFTER_MS,
          settleWithinMs: config.SETTLE_WITHIN_MS,
          settleGraceMs: config.DNS_SETTLE_GRACE_MS,
          actionPollMs: config.ACTION_POLL_MS,
          actionHoldMs: config.ACTION_HOLD_MS,
          actionRunningMsMax: config.ACTION_TIMEOUT_MS,
          propagationMsMax: config.DNS_PROPAGATION_MS_MAX,
        },
        pool,
        prisma,
        writePrisma,
        ledger,
        upstream,
        verifier,
        lastUsed,
        requests,
        answered,
        nameServers: config.DNS_NAME_SERVERS.length === 0 ? null : nameServers(config.DNS_NAME_SERVERS),
        buckets,
        health,
        metrics,
        log,
      }),
    errors: dnsErrors,
    closing: [
      { name: 'deliveries', close: answered.close },
      { name: 'last use', close: lastUsed.close },
      { name: 'request counts', close: requests.close },
      { name: 'token notifications', close: verifier.close },
      { name: 'upstream', close: upstream.close },
    ],
  };
});

/** Null when demos are switched off. */
function demoConfig(config: Config<typeof dnsGatewayConfig>): DemoConfig | null {
  const { DEMOS_ENABLED, DEMO_ZONE_NAME: zoneName, DEMOS_PER_TEAM: perTeam } = config;
  if (!DEMOS_ENABLED || zoneName === undefined) return null;
  if (zoneName === config.DNS_ZONE_NAME) throw new Error('DEMO_ZONE_NAME must differ from DNS_ZONE_NAME.');
  return { zoneName, perTeam };
}
