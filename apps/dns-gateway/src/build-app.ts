import { setTimeout as pause } from 'node:timers/promises';
import { type DnsTokenVerifier, type LastUsedRecorder, requireDnsToken, type TokenRefusal } from '@corral/auth';
import { dnsRoutes } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { type AnsweredRecorder, actionStore, mirrorStore, type WriteLedger } from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import { type Health, type Log, type Metrics, requestId, requestLog } from '@corral/service';
import express, { type Express } from 'express';
import { DnsError } from './dns-error.js';
import { actionProgress } from './domain/action-progress.js';
import { keyedQueue } from './domain/keyed-queue.js';
import { rrsetWriter } from './domain/rrset-writer.js';
import { zoneDirectory } from './domain/zone-directory.js';
import { canonicalUrl } from './http/canonical-url.js';
import { errorHandler, unknownPath } from './http/error-handler.js';
import { type DnsHandlers, mountRoutes } from './http/mount-routes.js';
import { type RateLimits, requestLimits } from './http/rate-limits.js';
import type { Buckets } from './limits/buckets.js';
import { actionRoutes } from './routes/actions.js';
import { docsRoutes } from './routes/docs.js';
import { rrsetWriteRoutes } from './routes/rrset-writes.js';
import { rrsetRoutes } from './routes/rrsets.js';
import { zoneRoutes } from './routes/zones.js';

export interface AppConfig {
  readonly zoneName: string;
  readonly publicUrl: string;
  /** Express' setting of the same name. */
  readonly trustProxy: unknown;
  readonly limits: RateLimits;
  readonly turnMsMax: number;
  readonly settleAfterMs: number;
  readonly actionPollMs: number;
  readonly actionRunningMsMax: number;
}

export interface AppDeps {
  readonly config: AppConfig;
  readonly pool: Pool;
  readonly ledger: WriteLedger;
  readonly upstream: Pick<HcloudClient, 'write' | 'readActions'>;
  readonly verifier: Pick<DnsTokenVerifier, 'verify'>;
  readonly lastUsed: Pick<LastUsedRecorder, 'note'>;
  readonly answered: AnsweredRecorder;
  readonly buckets: Buckets;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Wires the DNS gateway, in the order in which requests meet its parts. */
export function buildApp(deps: AppDeps): Express {
  const { config, buckets, verifier, lastUsed, health, metrics, log } = deps;
  const limits = requestLimits(buckets, config.limits);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', config.trustProxy);
  app.use(requestId());
  app.use(requestLog(log, metrics));
  app.use(canonicalUrl());
  app.use('/v1', limits.perAddress);
  app.use('/v1', requireDnsToken({ verifier, onUse: lastUsed.note, refuse: refuseToken }));
  app.use('/v1', limits.perToken, limits.perTeam);
  app.use('/v1', mountRoutes(dnsRoutes, buildHandlers(deps)));
  app.use(health.router());
  app.use(docsRoutes(config));
  app.use(unknownPath());
  app.use(errorHandler(log));
  return app;
}

function buildHandlers({ config, pool, ledger, upstream, answered, metrics, log }: AppDeps): DnsHandlers {
  const writes = metrics.counter({
    name: 'corral_dns_writes_total',
    help: 'Writes sent upstream, by how they ended',
    labelNames: ['outcome'],
  });
  const mirror = mirrorStore(pool);
  const zones = zoneDirectory({ zoneName: config.zoneName, find: mirror.findZone });
  const writer = rrsetWriter({
    ledger,
    send: upstream.write,
    queue: keyedQueue(),
    isDelivered: answered.has,
    pause,
    now: Date.now,
    turnMsMax: config.turnMsMax,
    settleAfterMs: config.settleAfterMs,
    onOutcome: (outcome) => writes.inc({ outcome }),
  });
  const actions = actionProgress({
    store: actionStore(pool),
    read: upstream.readActions,
    pause,
    now: Date.now,
    pollIntervalMs: config.actionPollMs,
    runningMsMax: config.actionRunningMsMax,
    onReadError: (error) => log.warn('actions not read', { error }),
  });
  return {
    ...zoneRoutes({ zones }),
    ...rrsetRoutes({ zones, mirror }),
    ...rrsetWriteRoutes({ zones, mirror, writer, answered }),
    ...actionRoutes({ actions }),
  };
}

function refuseToken(why: TokenRefusal): DnsError {
  switch (why) {
    case 'missing':
      return new DnsError('unauthorized', 'A token is required: send one header Authorization: Bearer <token>.');
    case 'unknown':
      return new DnsError('unauthorized', 'The token is unknown, expired or revoked.');
    case 'scope':
      return new DnsError('forbidden', 'The token lacks the scope dns.');
  }
}
