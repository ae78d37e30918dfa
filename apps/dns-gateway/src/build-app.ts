import { type Buckets, type Clock, systemClock } from '@corral/admission';
import {
  type DnsCaller,
  type DnsTokenVerifier,
  dnsTokenCheck,
  dnsTokenHashOf,
  findDnsCaller,
  type RequestCounter,
  type TokenRefusal,
  type UseRecorder,
} from '@corral/auth';
import { type DnsRoute, dnsBodyLimitsOf, dnsDemoRoutes, dnsOpenApi, dnsRoutes, dnsZoneRoutes } from '@corral/contracts';
import { isHeld, type Prisma } from '@corral/database';
import {
  admitRequests,
  allowOrigins,
  ClientGone,
  docsRouter,
  errorHandler,
  type HandlersOf,
  healthRoutes,
  mountRoutes,
  securityTxt,
  serviceApp,
  unknownPath,
} from '@corral/http-api';
import type { Health, TrustProxy } from '@corral/service';
import { type ErrorRequestHandler, type Express, type Request, type RequestHandler, Router } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { actionRoutes } from './actions/routes.js';
import { demoRoutes } from './demos/routes.js';
import { changesAreHeld, DnsError, teamSuspended, tokenUnknown } from './dns-error.js';
import { dnsErrors } from './http/error-shape.js';
import { type RateLimits, type RequestLimits, requestLimits } from './http/limits.js';
import { rrsetRoutes } from './rrsets/routes.js';
import { buildServices, type Connections, type ServicesConfig } from './services.js';
import { tokenRoutes } from './token/routes.js';
import { zoneRoutes } from './zones/routes.js';

export interface AppConfig extends ServicesConfig {
  /** Express' setting of the same name. */
  readonly trustProxy: TrustProxy;
  readonly limits: RateLimits;
  /** Origins whose scripts may call the API. */
  readonly consoleOrigins: readonly string[];
  /** See `securityTxt`. */
  readonly securityContact: string | undefined;
  /** See `AdmitRequestsOptions.max`. */
  readonly requestsInFlightMax: number;
  /** Size of `pool`, and the number of requests that are worked on concurrently. */
  readonly readConnections: number;
  /** See `dnsLimits.writeWaitMs`. */
  readonly writeWaitMs: number;
  /** See `dnsLimits.readWaitMs`. */
  readonly readWaitMs: number;
}

export interface AppDeps extends Connections {
  readonly config: AppConfig;
  readonly verifier: DnsTokenVerifier;
  readonly lastUsed: UseRecorder;
  readonly requests: RequestCounter;
  readonly buckets: Buckets;
  /** Times held reads and waits for request limits. Default: real time. */
  readonly clock?: Clock;
  readonly health: Health;
}

/** Wires the DNS gateway, in the order in which requests meet its parts. */
export function buildApp(deps: AppDeps): Express {
  const { config, buckets, health, metrics, log, clock = systemClock } = deps;
  const { writeWaitMs, readWaitMs } = config;
  const token = tokenCheck(deps);
  const limits = requestLimits({ buckets, clock, writeWaitMs, readWaitMs }, config.limits);
  const admission = admitRequests({
    max: config.requestsInFlightMax,
    connections: config.readConnections,
    hintOf: dnsTokenHashOf,
    errors: dnsErrors,
    log,
    metrics,
  });
  const services = buildServices(deps, { config, clock, draining: health.draining, limits });
  const served: readonly DnsRoute[] = services.demos === null ? dnsZoneRoutes : dnsRoutes;
  const zones: HandlersOf<(typeof dnsZoneRoutes)[number]> = {
    ...zoneRoutes(services),
    ...rrsetRoutes(services),
    ...tokenRoutes(services),
    ...actionRoutes(services),
  };

  const crossOrigin = allowOrigins({
    origins: config.consoleOrigins,
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    requestHeaders: ['Authorization', 'Content-Type'],
    answerHeaders: readableHeaders,
  });
  const app = serviceApp({ trustProxy: config.trustProxy, log, metrics, admit: admission.check, crossOrigin });
  // A router of its own, because Express takes a prefix off the URL and puts it back for every handler below it.
  const api = Router({ caseSensitive: true });
  const countAsCaller = admission.countAs((_req, res) => findDnsCaller(res)?.accountId ?? null);
  const { perAddress, settleAddress, perCaller } = limits;
  api.use(perAddress, token.load, settleAddress, countAsCaller, perCaller, token.require);
  mountRoutes<DnsRoute>(dnsZoneRoutes, zones, { on: api, bodyBounds: dnsBodyLimitsOf });
  if (services.demos !== null) {
    const refuseHeld = refuseWhileHeld(deps.prisma);
    const before = ({ kind }: DnsRoute) => (kind === 'write' ? [refuseHeld] : []);
    mountRoutes<DnsRoute>(dnsDemoRoutes, demoRoutes(services, services.demos), {
      on: api,
      before,
      bodyBounds: dnsBodyLimitsOf,
    });
  }
  api.use(forgiveGone(limits));
  app.use('/v1', api);
  app.use(['/openapi.json', '/docs'], limits.perAddress);
  app.use(healthRoutes(health), securityTxt(config.securityContact));
  app.use(docsRouter({ document: () => dnsOpenApi(config.publicUrl ?? '/v1', served), assetsDir: absolutePath() }));
  app.use(unknownPath);
  app.use(errorHandler(dnsErrors, log));
  return app;
}

/** Refuses changes of demos during a hold, and by suspended teams. Writes of record sets read both with their quota instead. */
const refuseWhileHeld =
  (prisma: Prisma): RequestHandler =>
  async (_req, res, next) => {
    if (await isHeld(prisma)) throw changesAreHeld();
    const id = findDnsCaller(res)?.teamId ?? null;
    if (id !== null && (await prisma.team.count({ where: { id, suspendedAt: { not: null } } })) > 0)
      throw teamSuspended();
    next();
  };

/** A write that was withdrawn because its client disconnected costs nothing. */
const forgiveGone =
  ({ giveBack }: RequestLimits): ErrorRequestHandler =>
  (error, _req, res, next) => {
    if (error instanceof ClientGone) giveBack(res);
    next(error);
  };

/** The answer headers that a browser hides from scripts of other origins unless they are listed. */
const readableHeaders = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Correlation-Id',
];

function tokenCheck({ verifier, lastUsed, requests }: AppDeps) {
  const onUse = ({ tokenId, teamId }: DnsCaller): void => {
    lastUsed.note(tokenId);
    if (teamId !== null) requests.note(teamId);
  };
  return dnsTokenCheck({ verifier, onUse, refuse: refuseToken, isPublic, isForAnyScope });
}

/** A request below `/v1` to a row without parameters. */
const isTo =
  (rows: readonly DnsRoute[]) =>
  ({ method, path }: Request): boolean =>
    rows.some((row) => row.method.toUpperCase() === (method === 'HEAD' ? 'GET' : method) && row.path === path);

/** Whether demos are served or not: the paths are no others than unknown ones while they are not. */
const isPublic = isTo((dnsDemoRoutes as readonly DnsRoute[]).filter(({ tokenless }) => tokenless));
const isForAnyScope = isTo((dnsZoneRoutes as readonly DnsRoute[]).filter(({ anyScope }) => anyScope));

function refuseToken(why: TokenRefusal): DnsError {
  switch (why) {
    case 'missing':
      return new DnsError('unauthorized', 'A token is required. Send one header "Authorization: Bearer <token>".');
    case 'unknown':
      return tokenUnknown();
    case 'scope':
      return new DnsError('forbidden', 'The token does not have the scope dns.');
    case 'read only':
      return new DnsError('forbidden', 'The token only reads. A change requires one of a member or an administrator.');
  }
}
