import type { Buckets } from '@corral/admission';
import { type AccountVerifier, loadCaller, type UseRecorder } from '@corral/auth';
import {
  type ClusterOperationId,
  type ClusterRoute,
  clusterBodyLimits,
  clusterOpenApi,
  clusterRoutes,
} from '@corral/contracts';
import type { Pool, Prisma } from '@corral/database';
import {
  admitRequests,
  docsRouter,
  errorHandler,
  healthRoutes,
  mountRoutes,
  serviceApp,
  unknownPath,
} from '@corral/http-api';
import type { Health, Log, Metrics, TrustProxy } from '@corral/service';
import type { Express, RequestHandler } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { type AccountHandlerDeps, buildAccountHandlers } from './accounts/handlers.js';
import { apiAudit } from './audit/api-entries.js';
import { dnsAudit } from './audit/dns-entries.js';
import { auditLog } from './audit/log.js';
import { auditRoutes } from './audit/routes.js';
import { teamChanges } from './changes/team-changes.js';
import { buildClusterHandlers, type ClusterConfig, type ClusterHandlerDeps } from './clusters/handlers.js';
import { buildConnectionHandlers, type ConnectionHandlerDeps } from './connections/handlers.js';
import { consoleRouter } from './console/routes.js';
import { buildDnsHandlers, type DnsConfig, type DnsHandlerDeps } from './dns/handlers.js';
import { buildEventHandlers, type EventConfig, type EventHandlerDeps } from './events/handlers.js';
import { admit, presumedOwnerOf, refuseCrossSite, requestOwnerOf } from './http/caller.js';
import { type ChangeLimits, changeQueue } from './http/change-queue.js';
import { problemShape } from './http/error-shape.js';
import { refuseIdempotencyKey } from './http/headers.js';
import { oauthErrors } from './http/oauth-errors.js';
import type { OperationWaitLimits } from './http/operation-wait-room.js';
import { problemPages } from './http/problem-pages.js';
import { checkQuery } from './http/query.js';
import { type RateLimits, requestLimits } from './http/rate-limits.js';
import { isRefusedWhileHeld, refuseWhileHeld } from './http/refuse-while-held.js';
import { buildOperationHandlers } from './operations/handlers.js';
import { buildSignInHandlers, type SignInConfig, type SignInHandlerDeps } from './people/handlers.js';
import { Problem } from './problem.js';
import { isOtherProject } from './servers/cloud-project.js';
import { buildServerHandlers, type ServerConfig, type ServerHandlerDeps } from './servers/handlers.js';
import { buildTeamHandlers, type TeamConfig } from './teams/handlers.js';
import { buildTokenHandlers, type TokenHandlerDeps } from './tokens/handlers.js';
import { usageRoutes } from './usage/routes.js';
import { usageStore } from './usage/store.js';

export interface AppConfig extends ClusterConfig, DnsConfig, ServerConfig, SignInConfig, TeamConfig {
  /** Public base URL of this service, without a trailing slash. Known once the service listens. */
  readonly publicUrl: () => string;
  /** Express' setting of the same name. */
  readonly trustProxy: TrustProxy;
  readonly limits: RateLimits;
  /** See `AdmitRequestsOptions.max`. */
  readonly requestsInFlightMax: number;
  /** Size of `pool`, and the number of requests that are worked on concurrently. */
  readonly readConnections: number;
  /** Whether this service serves the web console. */
  readonly consoleEnabled: boolean;
  readonly events: EventConfig;
  readonly changes: ChangeLimits;
  readonly operationWaits: OperationWaitLimits;
}

/** The garden calls that requests need. All others belong to passes. */
export type GardenOfApi = ClusterHandlerDeps['garden'] & ServerHandlerDeps['garden'];

export interface AppDeps
  extends Pick<SignInHandlerDeps, 'sessions' | 'codes' | 'secrets' | 'oidc'>,
    Pick<ConnectionHandlerDeps, 'verifyToken' | 'queue'>,
    Pick<ServerHandlerDeps, 'projects'>,
    Pick<DnsHandlerDeps, 'budgets'>,
    Pick<EventHandlerDeps, 'eventNotifications'>,
    Pick<AccountHandlerDeps, 'issuerCalls'>,
    Pick<TokenHandlerDeps, 'issuerKeys' | 'refusals'> {
  readonly config: AppConfig;
  /** For everything but changes of a team. */
  readonly prisma: Prisma;
  /** For frequent reads and single statements. */
  readonly pool: Pool;
  /** For changes. `connections`: the maximum number of concurrent changes. */
  readonly changes: { readonly prisma: Prisma; readonly connections: number };
  readonly sessionUse: Pick<UseRecorder, 'note'>;
  readonly accounts: AccountVerifier;
  readonly accountUse: Pick<UseRecorder, 'note'>;
  readonly garden: GardenOfApi;
  /** Unix time in ms, for the expiry of sign-in attempts and the age of the catalogue. */
  readonly now: () => number;
  readonly buckets: Buckets;
  readonly health: Pick<Health, 'readiness' | 'draining'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Wires the cluster API, in the order in which requests pass its parts. */
export function buildApp(deps: AppDeps): Express {
  const { config, sessions, sessionUse, accounts, accountUse, buckets, health, metrics, log } = deps;
  const errors = problemShape(config.publicUrl);
  const limits = requestLimits(buckets, config.limits);
  const admission = admitRequests({
    max: config.requestsInFlightMax,
    connections: config.readConnections,
    hintOf: presumedOwnerOf,
    errors,
    log,
    metrics,
  });
  const app = serviceApp({ trustProxy: config.trustProxy, log, metrics, admission });
  app.use(healthRoutes(health, { caseSensitive: true, strict: true, notReady }));
  // Before the limit per address: a page loads dozens of files, and people of one office share an address.
  if (config.consoleEnabled) app.use(consolePages(deps));
  app.use(limits.perAddress);
  app.use(docsRouter({ document: () => clusterOpenApi(config.publicUrl()), assetsDir: absolutePath() }));
  app.use(problemPages());
  app.use('/auth/token', limits.tokensPerAddress);
  app.use(loadCaller({ sessions, onUse: sessionUse.note, accounts, onTokenUse: accountUse.note }));
  app.use(admission.countAs(requestOwnerOf));
  app.use(limits.settleAddress);
  app.use(['/auth/login', '/auth/callback', '/auth/authorize'], limits.signInPerAddress);
  app.use(refuseCrossSite(config.publicUrl));
  app.use(limits.perPerson);
  const routes = clusterRoutes.filter(({ path }) => config.devSignIn || path !== '/auth/dev-login/');
  app.use(
    noStore,
    mountRoutes<ClusterRoute>(routes, buildHandlers({ ...deps, forgiveSender: limits.forgiveTokenRequest }), {
      endInSlash: true,
      before: before(refuseWhileHeld(deps.prisma)),
      bodyBounds: () => clusterBodyLimits,
    }),
  );
  app.use(unknownPath);
  app.use('/auth/token', oauthErrors(errors));
  app.use(errorHandler(errors, log));
  return app;
}

const READY_RETRY_SECONDS = 5;

const notReady = (failing: readonly string[]): Problem =>
  new Problem('service_unavailable', `Not ready: ${failing.join(', ')}. Try again in a moment.`, {
    retryAfterSeconds: READY_RETRY_SECONDS,
  });

const consolePages = ({ config, oidc }: AppDeps) =>
  consoleRouter({
    settings: { openIdConnect: oidc !== null, devSignIn: config.devSignIn },
    dnsEndpoint: config.dnsApi?.endpoint ?? null,
  });

/** Every answer contains data of a team or a person. */
const noStore: RequestHandler = (_req, res, next) => {
  res.setHeader('Cache-Control', 'no-store');
  next();
};

/** Runs before each handler: checks the caller and the query. */
const before =
  (refuseHeld: RequestHandler) =>
  (row: ClusterRoute): RequestHandler[] => [
    admit(row),
    checkQuery(row),
    ...(isRefusedWhileHeld(row) ? [refuseHeld] : []),
    ...(row.idempotent ? [] : [refuseIdempotencyKey]),
  ];

type Changes = Pick<SignInHandlerDeps, 'changeTeam' | 'inTurn'>;

function buildChanges({ config, changes, metrics }: Pick<AppDeps, 'config' | 'changes' | 'metrics'>): Changes {
  const { run, countWaiting } = changeQueue(config.changes, changes.connections);
  metrics.gauge({
    name: 'corral_changes_waiting_count',
    help: 'Changes that wait for their turn',
    collect() {
      this.set(countWaiting());
    },
  });
  return { inTurn: run, changeTeam: teamChanges(changes.prisma, run) };
}

function buildHandlers(
  app: AppDeps & Pick<TokenHandlerDeps, 'forgiveSender'>,
): Readonly<Record<ClusterOperationId, RequestHandler>> {
  const { secrets, projects } = app;
  const deps = { ...app, ...buildChanges(app) };
  // A token whose key is no longer in the ring counts as absent. The team replaces it with a new token.
  const open: ConnectionHandlerDeps['open'] = (sealed, id) => secrets.openOrNull(sealed, id);
  return {
    ...buildSignInHandlers(deps),
    ...buildConnectionHandlers({
      ...deps,
      open,
      seal: (token, id) => secrets.seal(token, id),
      isOtherProject: (token, resources) => isOtherProject({ projects }, token, resources),
    }),
    ...buildServerHandlers({ ...deps, open }),
    ...buildClusterHandlers(deps),
    ...buildDnsHandlers(deps),
    ...auditRoutes({ log: auditLog({ api: apiAudit(app.prisma), dns: dnsAudit(app.prisma) }) }),
    ...usageRoutes({ store: usageStore(app.prisma), now: app.now }),
    ...buildTeamHandlers(deps),
    ...buildAccountHandlers(deps),
    ...buildTokenHandlers(deps),
    ...buildEventHandlers(deps),
    ...buildOperationHandlers(deps),
  };
}
