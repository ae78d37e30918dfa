import { setTimeout as pause } from 'node:timers/promises';
import {
  type DnsCaller,
  type DnsTokenVerifier,
  findDnsCaller,
  type RequestCounter,
  requireDnsToken,
  type TokenRefusal,
  type UseRecorder,
} from '@corral/auth';
import {
  type DnsRoute,
  dnsDemoRoutes,
  dnsLimits,
  dnsOpenApi,
  dnsRoutes,
  dnsZoneRoutes,
  retentionLimits,
} from '@corral/contracts';
import type { Pool } from '@corral/database';
import { demoEnds, demoStore, drawLabel } from '@corral/demos';
import {
  type AnsweredRecorder,
  actionStore,
  copyStore,
  driftReporter,
  mirrorStore,
  pollTurns,
  type ReadRrset,
  refusedWrites,
  SETTLE_LEASE_MS,
  settlementStore,
  upstreamReader,
  type WriteLedger,
  zoneSyncStore,
} from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import { type Buckets, type Clock, type PlacesPerKey, placesPerKey, systemClock } from '@corral/rate-limit';
import {
  docsRouter,
  flightBound,
  type Health,
  type Log,
  type Metrics,
  serviceApp,
  type TrustProxy,
} from '@corral/service';
import type { Express, Request } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { DnsError, tokenUnknown } from './dns-error.js';
import { actionProgress } from './domain/action-progress.js';
import { clearDemo } from './domain/clear-demo.js';
import { demos } from './domain/demos.js';
import { followActions, untilOneEnds } from './domain/follow-actions.js';
import { heldReads } from './domain/held-reads.js';
import { keyedQueue } from './domain/keyed-queue.js';
import { lookAgain } from './domain/look-again.js';
import { noteRefused } from './domain/note-refused.js';
import { rrsetWriter } from './domain/rrset-writer.js';
import { settling } from './domain/settling.js';
import { type ZoneDirectory, zoneDirectory, zonesOf } from './domain/zone-directory.js';
import { errorHandler, sendError, unknownPath } from './http/error-handler.js';
import { type HandlersOf, mountRoutes } from './http/mount-routes.js';
import { type RateLimits, type RequestLimits, requestLimits } from './http/rate-limits.js';
import { actionRoutes } from './routes/actions.js';
import { demoRoutes } from './routes/demos.js';
import { rrsetWriteRoutes } from './routes/rrset-writes.js';
import { rrsetRoutes } from './routes/rrsets.js';
import { zoneRoutes } from './routes/zones.js';

export interface AppConfig {
  readonly zoneName: string;
  /** Null where demos are switched off. */
  readonly demos: DemoConfig | null;
  readonly publicUrl: string;
  /** Express' setting of the same name. */
  readonly trustProxy: TrustProxy;
  readonly limits: RateLimits;
  /** See `FlightBoundOptions.max`. */
  readonly requestsInFlightMax: number;
  /** In all. As many requests are worked on at once. */
  readonly databaseConnections: number;
  /** See `dnsLimits.writeWaitMs`. */
  readonly writeWaitMs: number;
  /** See `dnsLimits.readWaitMs`. */
  readonly readWaitMs: number;
  readonly settleAfterMs: number;
  /** For so long a client then waits for the upstream to tell what became of its write. */
  readonly settleWithinMs: number;
  /** How long after an accepted write the upstream may not show it yet. */
  readonly settleGraceMs: number;
  readonly actionPollMs: number;
  readonly actionHoldMs: number;
  readonly actionRunningMsMax: number;
}

export interface DemoConfig {
  readonly zoneName: string;
  /** Live demos that a team may have. */
  readonly perTeam: number;
}

export interface AppDeps {
  readonly config: AppConfig;
  readonly pool: Pool;
  readonly ledger: WriteLedger;
  readonly upstream: Pick<HcloudClient, 'write' | 'readActions' | 'readRrset' | 'readZone' | 'budget'>;
  readonly verifier: Pick<DnsTokenVerifier, 'verify'>;
  readonly lastUsed: Pick<UseRecorder, 'note'>;
  readonly requests: Pick<RequestCounter, 'note'>;
  readonly answered: AnsweredRecorder;
  readonly buckets: Buckets;
  /** What waits for a rate or is held is timed by it. Default: real time. */
  readonly clock?: Clock;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** For so long the records of a demo that was deleted are this process's to delete, afterwards the reconciler's. */
const CLEAR_LEASE_MS = 10_000;
/** An answer that has to wait for a second call waits for so long at most. */
const LOOK_MS_MAX = 1_000;

/** Wires the DNS gateway, in the order in which requests meet its parts. */
export function buildApp(deps: AppDeps): Express {
  const { config, buckets, verifier, lastUsed, requests, health, metrics, log } = deps;
  const clock = deps.clock ?? systemClock;
  const waiting: Waiting = { clock, places: placesPerKey(dnsLimits.waitingWritesPerToken) };
  const { writeWaitMs, readWaitMs } = config;
  const readPlaces = placesPerKey(dnsLimits.waitingReadsPerToken);
  const limits = requestLimits({ buckets, ...waiting, readPlaces, writeWaitMs, readWaitMs }, config.limits);
  const flights = flightBound({
    max: config.requestsInFlightMax,
    connections: config.databaseConnections,
    claimOf: ({ headers }) => headers.authorization ?? null,
    refuse: (sentence, retryAfterSeconds) => new DnsError('unavailable', sentence, { retryAfterSeconds }),
    send: sendError,
    ...{ log, metrics },
  });
  const onUse = ({ tokenId, teamId }: DnsCaller): void => {
    lastUsed.note(tokenId);
    if (teamId !== null) requests.note(teamId);
  };
  const served: readonly DnsRoute[] = config.demos === null ? dnsZoneRoutes : dnsRoutes;
  const app = serviceApp({
    trustProxy: config.trustProxy,
    ...{ log, metrics, flights },
    refuse: (sentence) => new DnsError('invalid_input', sentence),
  });
  app.use(['/v1', '/openapi.json', '/docs'], limits.perAddress);
  app.use('/v1', requireDnsToken({ verifier, onUse, refuse: refuseToken, isPublic }));
  app.use('/v1', (_req, res, next) => {
    const caller = findDnsCaller(res);
    if (caller !== null) flights.belongsTo(res, caller.accountId);
    next();
  });
  app.use('/v1', limits.perCaller);
  const handlers = buildHandlers(deps, waiting, limits);
  app.use('/v1', mountRoutes(dnsZoneRoutes, handlers.zones));
  if (handlers.demos !== null) app.use('/v1', mountRoutes(dnsDemoRoutes, handlers.demos));
  app.use(health.router());
  app.use(docsRouter({ document: () => dnsOpenApi(config.publicUrl, served), assetsDir: absolutePath() }));
  app.use(unknownPath());
  app.use(errorHandler(log));
  return app;
}

interface Waiting {
  readonly clock: Clock;
  /** Of a token's waiting writes. */
  readonly places: PlacesPerKey;
}

interface Handlers {
  readonly zones: HandlersOf<(typeof dnsZoneRoutes)[number]>;
  /** Null where demos are switched off. */
  readonly demos: HandlersOf<(typeof dnsDemoRoutes)[number]> | null;
}

function buildHandlers(deps: AppDeps, { clock, places }: Waiting, limits: RequestLimits): Handlers {
  const { config, pool, ledger, upstream, answered, health, metrics, log } = deps;
  const writes = metrics.counter({
    name: 'corral_dns_writes_total',
    help: 'Writes sent upstream, by how they ended',
    labelNames: ['outcome'],
  });
  const mirror = mirrorStore(pool);
  const directoryOf = (zoneName: string) => zoneDirectory({ zoneName, find: mirror.findZone });
  const demoZone = config.demos === null ? null : directoryOf(config.demos.zoneName);
  const zones = zonesOf(directoryOf(config.zoneName), demoZone);
  const send: HcloudClient['write'] = async (write, options) => {
    const outcome = await upstream.write(write, options);
    writes.inc({ outcome: outcome.kind });
    return outcome;
  };
  const sending = { ledger, send, pause, settleAfterMs: config.settleAfterMs };
  const reportDrift = driftReporter(metrics, log);
  const note = noteRefused(refusedWrites(pool), (error) => log.warn('refused write not counted', { error }));
  const settlements = settlementStore(pool);
  // One for each look: a zone that was seen once may be out of reach by the next time.
  const read: ReadRrset = (key, purpose) => upstreamReader(upstream)(key, purpose);
  const look = lookAgain({
    ...{ mirror: zoneSyncStore(pool), settlements, read, reportDrift, pause },
    ...{ graceMs: config.settleGraceMs, waitMsMax: LOOK_MS_MAX },
    onError: (error) => log.warn('record set not looked at again', { error }),
  });
  const following = { store: actionStore(pool), pause, now: Date.now, pollIntervalMs: config.actionPollMs };
  const follow = followActions({
    ...following,
    polls: pollTurns(pool),
    lookAgain: look,
    read: upstream.readActions,
    onReadError: (error) => log.warn('actions not read', { error }),
  });
  const writer = rrsetWriter({
    ...{ ledger, send, pause, noteRefused: note },
    settling: settling({
      ...{ settlements, read, pause, now: clock.now, graceMs: config.settleGraceMs },
      ...{ settleAfterMs: config.settleAfterMs, settleWithinMs: config.settleWithinMs },
      onError: (error) => log.warn('write not settled', { error }),
    }),
    settleHoldMs: config.settleAfterMs + config.settleWithinMs + SETTLE_LEASE_MS,
    copies: copyStore(pool, retentionLimits.replaySeconds * 1_000),
    queue: keyedQueue(),
    places,
    budgetLimit: () => upstream.budget().limit,
    reportDrift,
    lookAgain: look,
    roomMoves: async (ownerId, waitMs, gone) => {
      const holding = await following.store.findHolding(ownerId);
      if (holding.length > 0) await untilOneEnds(follow(holding, 'ended'), { waitMs, gone, pause });
    },
    isDelivered: answered.has,
    now: clock.now,
  });
  const held = heldReads({
    ...{ clock, holdMs: config.actionHoldMs, draining: health.draining },
    places: placesPerKey(dnsLimits.heldReadsPerToken),
  });
  const actions = actionProgress({ ...following, follow, held, runningMsMax: config.actionRunningMsMax });
  const clear = clearDemo({
    ...sending,
    ends: demoEnds(pool),
    onError: (error) => log.warn('demo not cleared at once', { error }),
  });
  const buildDemos = (zone: ZoneDirectory, { perTeam }: DemoConfig) => {
    const store = demoStore(pool, { demosPerTeam: perTeam, clearLeaseMs: CLEAR_LEASE_MS });
    return demoRoutes({ demos: demos({ store, zone, drawLabel, clear }) });
  };
  return {
    zones: {
      ...zoneRoutes({ zones, mirror }),
      ...rrsetRoutes({ zones, mirror }),
      ...rrsetWriteRoutes({ zones, mirror, writer, answered, noteRefused: note, limits, budget: upstream.budget }),
      ...actionRoutes({ actions, store: following.store, zones, giveBack: limits.giveBack }),
    },
    demos: demoZone === null || config.demos === null ? null : buildDemos(demoZone, config.demos),
  };
}

/** Whether demos are served or not: the paths are no others than unknown ones while they are not. */
function isPublic({ method, path }: Request): boolean {
  const routes: readonly DnsRoute[] = dnsDemoRoutes;
  return routes.some((row) => row.tokenless && row.method.toUpperCase() === method && row.path === path);
}

function refuseToken(why: TokenRefusal): DnsError {
  switch (why) {
    case 'missing':
      return new DnsError('unauthorized', 'A token is required. Send one header "Authorization: Bearer <token>".');
    case 'unknown':
      return tokenUnknown();
    case 'scope':
      return new DnsError('forbidden', 'The token does not have the scope dns.');
  }
}
