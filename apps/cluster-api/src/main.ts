import { readBudgets, systemClock } from '@corral/admission';
import {
  accountTokenUseRecorder,
  accountVerifier,
  deviceSignInStore,
  sessionStore,
  sessionUseRecorder,
  signInCodeStore,
} from '@corral/auth';
import { connectPrisma } from '@corral/database';
import { connectGarden, gardenCallMetrics } from '@corral/garden';
import { connectProjects, verifyToken } from '@corral/hcloud';
import { startService } from '@corral/http-api';
import { connectQueue } from '@corral/queue';
import { callGuard, webhookGuardOptions } from '@corral/service';
import { buildApp } from './build-app.js';
import { appConfigOf, readClusterApiConfig } from './config.js';
import { listenToTeamEvents } from './events/store.js';
import { problemShape } from './http/error-shape.js';
import { oidcClient } from './people/oidc-client.js';
import { oidcSettings } from './people/oidc-config.js';
import { issuerCalls } from './token-exchange/issuer-calls.js';
import { issuerKeys } from './token-exchange/issuer-keys.js';
import { refusalLog } from './token-exchange/refusal-log.js';
import { recordRefusals } from './token-exchange/store.js';

const service = {
  name: 'cluster-api',
  readConfig: readClusterApiConfig,
  second: 'changes',
  /** Less than the statement timeout, so the answer names the lock of another replica, not an unavailable database. */
  lockTimeoutMs: 4_000,
  closeMarginMs: 5_000,
};
/** Short because a request waits for the provider's answer. */
const PROVIDER_MS_MAX = 3_000;

await startService(
  service,
  (config, { log, metrics, report, pool, secondPool, connections, buckets, listeningUrl }) => {
    if (config.DEV_SIGN_IN)
      log.warn('development sign-in is on: every user of this machine can sign in as any person', {
        variable: 'DEV_SIGN_IN',
      });
    const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, HCLOUD_API_URL: baseUrl } = config;
    const configured = config.PUBLIC_URL?.replace(/\/+$/, '');
    const publicUrl = () => configured ?? listeningUrl() ?? `http://localhost:${config.PORT}`;
    const prisma = connectPrisma(pool);
    const times = { idleMs: config.SESSION_IDLE_MS, absoluteMs: config.SESSION_MAX_MS };
    const sessionUse = sessionUseRecorder(pool, times, report('use of sessions not recorded'));
    const accountUse = accountTokenUseRecorder(pool, report('use of tokens not recorded'));
    const refusals = refusalLog({
      write: (entry) => recordRefusals(prisma, entry),
      after: systemClock.after,
      onError: report('refused token exchanges not recorded'),
    });
    const queue = connectQueue({ redisUrl, databaseUrl, log });
    const garden = connectGarden({
      kubeconfigPath: config.GARDEN_KUBECONFIG,
      cloudProfileName: config.GARDEN_CLOUD_PROFILE,
      timeoutMs: config.GARDEN_TIMEOUT_MS,
      log,
      onCall: gardenCallMetrics(metrics),
    });
    const eventNotifications = listenToTeamEvents({
      databaseUrl,
      applicationName: service.name,
      onError: report('notifications of live changes interrupted'),
    });
    const oidc = oidcSettings(config);
    const calls = issuerCalls(
      callGuard({ privateHosts: config.TRUSTED_ISSUER_HOSTS, allowLoopback: config.DEV_SIGN_IN }),
    );
    return {
      // Readiness does not depend on garden, provider and Redis, because most requests need none of them.
      buildApp: (health) =>
        buildApp({
          config: appConfigOf(config, connections.reads, publicUrl),
          prisma,
          pool,
          changes: { prisma: connectPrisma(secondPool), connections: connections.second },
          queue,
          garden,
          projects: connectProjects({ baseUrl, timeoutMs: PROVIDER_MS_MAX }),
          verifyToken: (token) => verifyToken({ baseUrl, token }),
          readBudgets: () => readBudgets(prisma),
          buckets,
          secrets: config.SECRET_KEYS,
          sessions: sessionStore(pool, prisma, times),
          sessionUse,
          codes: signInCodeStore(prisma, times),
          devices: deviceSignInStore(prisma, times),
          accounts: accountVerifier(pool),
          accountUse,
          oidc: oidc === null ? null : oidcClient(oidc),
          issuerCalls: calls,
          issuerKeys: issuerKeys({ calls }),
          refusals,
          webhookGuard: callGuard(webhookGuardOptions(config)),
          eventNotifications: eventNotifications.subscribe,
          now: Date.now,
          health,
          metrics,
          log,
        }),
      errors: problemShape(publicUrl),
      closing: [
        { name: 'notifications of live changes', close: eventNotifications.close },
        { name: 'use of sessions', close: sessionUse.close },
        { name: 'use of tokens', close: accountUse.close },
        { name: 'refused token exchanges', close: refusals.close },
        { name: 'queue', close: queue.close },
        { name: 'garden', close: garden.close },
      ],
    };
  },
);
