import { loadSession, type SessionStore, type UseRecorder } from '@corral/auth';
import { clusterOpenApi, clusterRoutes } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { BudgetStore, Projects } from '@corral/hcloud';
import type { Queue } from '@corral/queue';
import { type Buckets, systemClock } from '@corral/rate-limit';
import type { KeyRing } from '@corral/secrets';
import { docsRouter, type Health, type Log, type Metrics, serviceApp, type TrustProxy } from '@corral/service';
import type { Express } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { buildClusterHandlers, type ClusterConfig, type GardenOfApi } from './build-cluster-handlers.js';
import { buildDnsHandlers } from './build-dns-handlers.js';
import { buildEventHandlers, type EventConfig, type EventNews } from './build-event-handlers.js';
import { buildServerHandlers } from './build-server-handlers.js';
import { buildSignInHandlers } from './build-sign-in-handlers.js';
import { buildTeamHandlers, type TeamConfig } from './build-team-handlers.js';
import { type ChangeLimits, changeTurns } from './domain/change-turns.js';
import { type ConnectionDeps, connectionService } from './domain/connections.js';
import { isOtherProject } from './domain/server-in-project.js';
import type { Turns } from './domain/turns.js';
import { refuseCrossSite } from './http/cross-site.js';
import { errorHandler, unknownPath } from './http/error-handler.js';
import { clusterFlights } from './http/flights.js';
import { type ClusterHandlers, mountRoutes } from './http/mount-routes.js';
import { type RateLimits, requestLimits } from './http/rate-limits.js';
import type { OidcClient } from './oidc/oidc-client.js';
import { Problem } from './problem.js';
import { connectionRoutes } from './routes/connections.js';
import { healthRoutes } from './routes/health.js';
import { problemPages } from './routes/problem-pages.js';
import { connectionStore } from './store/connections.js';
import { type ChangeTeam, teamChanges } from './store/team-changes.js';
import { clusterWakeUp, serverWakeUp } from './wake-ups.js';

export interface AppConfig extends ClusterConfig, TeamConfig {
  /** Base address of this service as clients see it, without a slash at its end. Known once it listens. */
  readonly publicUrl: () => string;
  /** Express' setting of the same name. */
  readonly trustProxy: TrustProxy;
  readonly secureCookies: boolean;
  /** Whether anybody may sign in as anybody: on a developer's machine only. */
  readonly devSignIn: boolean;
  readonly limits: RateLimits;
  /** See `FlightBoundOptions.max`. */
  readonly requestsInFlightMax: number;
  /** In all. As many requests are worked on at once. */
  readonly databaseConnections: number;
  /** The quota that the gateways are configured with. */
  readonly dnsRecordsPerTeam: number;
  /** Quota of teams that have none of their own. */
  readonly adoptedServersPerTeam: number;
  readonly events: EventConfig;
  readonly changes: ChangeLimits;
}

export interface AppDeps {
  readonly config: AppConfig;
  /** For what is read, and for single short statements: no change takes their connections. */
  readonly prisma: Prisma;
  /** For changes, with as many connections as of them run at once. */
  readonly changes: { readonly prisma: Prisma; readonly connections: number };
  readonly sessions: SessionStore;
  readonly sessionUse: Pick<UseRecorder, 'note'>;
  readonly queue: Pick<Queue, 'nudge'>;
  readonly garden: GardenOfApi;
  readonly secrets: KeyRing;
  readonly verifyToken: ConnectionDeps['verify'];
  /** The cloud projects behind the connections. */
  readonly projects: Pick<Projects, 'within'>;
  /** Null: nobody signs in by OpenID Connect. */
  readonly oidc: OidcClient | null;
  /** Unix time in ms, by which sign-in attempts end and the catalogue gets old. */
  readonly now: () => number;
  readonly buckets: Buckets;
  /** Where gateways and reconcilers keep the account of the upstream's budget. */
  readonly budgets: Pick<BudgetStore, 'readAll'>;
  /** What Postgres notifies of. */
  readonly eventNews: EventNews;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Wires the cluster API, in the order in which requests meet its parts. */
export function buildApp(deps: AppDeps): Express {
  const { config, sessions, sessionUse, buckets, health, metrics, log } = deps;
  const limits = requestLimits(buckets, config.limits);
  const bounds = { max: config.requestsInFlightMax, connections: config.databaseConnections };
  const flights = clusterFlights(config.publicUrl, { ...bounds, log, metrics });
  const app = serviceApp({
    trustProxy: config.trustProxy,
    ...{ log, metrics, flights },
    refuse: (sentence) => new Problem('invalid_http', sentence),
  });
  app.use(healthRoutes(health));
  app.use(limits.perAddress);
  app.use(docsRouter({ document: () => clusterOpenApi(config.publicUrl()), assetsDir: absolutePath() }));
  app.use(problemPages());
  app.use(['/auth/login', '/auth/callback'], limits.signInPerAddress);
  app.use(loadSession({ sessions, onUse: sessionUse.note }));
  app.use(flights.ownBySession);
  app.use(limits.forgiveAddress);
  app.use(refuseCrossSite(config.publicUrl));
  app.use(limits.perSession);
  const routes = clusterRoutes.filter(({ operationId }) => config.devSignIn || operationId !== 'devSignIn');
  app.use(mountRoutes(routes, buildHandlers({ ...deps, ...buildChanges(deps) })));
  app.use(unknownPath());
  app.use(errorHandler(log, config.publicUrl));
  return app;
}

/** What the parts of the app are made of. */
export interface PartDeps extends AppDeps {
  readonly changeTeam: ChangeTeam;
  /** For what holds a connection of changes and changes no team. */
  readonly turns: Pick<Turns, 'take'>;
}

function buildChanges({ config, changes, metrics }: AppDeps): Pick<PartDeps, 'changeTeam' | 'turns'> {
  const turns = changeTurns(config.changes, { atOnce: changes.connections, after: systemClock.after });
  metrics.gauge({
    name: 'corral_changes_waiting_count',
    help: 'Changes that wait for their turn',
    collect() {
      this.set(turns.countWaiting());
    },
  });
  return { turns, changeTeam: teamChanges(changes.prisma, turns) };
}

function buildHandlers(deps: PartDeps): ClusterHandlers {
  const connections = connectionStore(deps.prisma, deps.changeTeam);
  // A token whose key is gone is like one that was never there: the next one put into the connection replaces it.
  const open: ConnectionDeps['open'] = (sealed, id) => deps.secrets.openOrNull(sealed, id);
  return {
    ...buildSignInHandlers(deps),
    ...connectionRoutes({
      store: connections,
      publicUrl: deps.config.publicUrl,
      connections: connectionService({
        store: connections,
        seal: (token, id) => deps.secrets.seal(token, id),
        open,
        verify: deps.verifyToken,
        isOtherProject: (token, belongings) => isOtherProject(deps, token, belongings),
        wake: clusterWakeUp(deps.queue),
        wakeServer: serverWakeUp(deps.queue),
      }),
    }),
    ...buildServerHandlers(deps, open),
    ...buildClusterHandlers(deps),
    ...buildDnsHandlers(deps),
    ...buildTeamHandlers(deps),
    ...buildEventHandlers(deps),
  };
}
