import {
  type ClusterOperationId,
  type ClusterRoute,
  clusterBodyLimits,
  clusterOpenApi,
  clusterRoutes,
} from '@corral/contracts';
import {
  admitRequests,
  docsRouter,
  errorHandler,
  healthRoutes,
  mountRoutes,
  securityTxt,
  serviceApp,
  unknownPath,
} from '@corral/http-api';
import { corralVersion } from '@corral/service';
import type { Express, RequestHandler } from 'express';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { accountRoutes } from './accounts/routes.js';
import { auditRoutes } from './audit/routes.js';
import { billingRoutes } from './billing/routes.js';
import { catalogueRoutes } from './catalogue/routes.js';
import { clusterRoutes as clusterHandlers } from './clusters/routes.js';
import { connectionRoutes } from './connections/routes.js';
import { consoleRouter } from './console/routes.js';
import { dnsRoutes } from './dns/routes.js';
import { eventRoutes } from './events/routes.js';
import { hostedNameRoutes } from './hosted-names/routes.js';
import { authorizationServer } from './http/authorization-server.js';
import {
  admit,
  callerLoader,
  isRefusedWhileHeld,
  presumedOwnerOf,
  refuseCrossSite,
  refuseWhileHeld,
  requestOwnerOf,
} from './http/caller.js';
import { oauthErrors, problemShape } from './http/error-shape.js';
import { problemPages } from './http/problem-pages.js';
import { checkQuery, noStore, refuseIdempotencyKey } from './http/request.js';
import { invitationRoutes } from './invitations/routes.js';
import { kubeconfigRoutes } from './kubeconfigs/routes.js';
import { nodePoolRoutes } from './node-pools/routes.js';
import { operationRoutes } from './operations/routes.js';
import { peopleRoutes } from './people/routes.js';
import { Problem } from './problem.js';
import { serverRoutes } from './servers/routes.js';
import { type AppDeps, buildServices, type Services } from './services.js';
import { teamRoutes } from './teams/routes.js';
import { tokenRoutes } from './token-exchange/routes.js';
import { usageRoutes } from './usage/routes.js';
import { webhookRoutes } from './webhooks/routes.js';

export type { AppConfig } from './app-config.js';
export type { AppDeps } from './services.js';

/** Wires the cluster API, in the order in which requests pass its parts. */
export function buildApp(deps: AppDeps): Express {
  const services = buildServices(deps);
  const { config, limits, health, metrics, log } = services;
  const errors = problemShape(config.publicUrl);
  const admission = admitRequests({
    max: config.requestsInFlightMax,
    connections: config.readConnections,
    hintOf: presumedOwnerOf,
    errors,
    log,
    metrics,
  });
  const app = serviceApp({ trustProxy: config.trustProxy, log, metrics, admit: admission.check });
  app.use(healthRoutes(health, { caseSensitive: true, strict: true, notReady }), securityTxt(config.securityContact));
  // It comes before the limit per address: a page loads dozens of files, and people of one office share an address.
  if (config.consoleEnabled) app.use(consolePages(services));
  app.use(limits.perAddress);
  app.use(docsRouter({ document: () => clusterOpenApi(config.publicUrl()), assetsDir: absolutePath() }));
  app.use(problemPages());
  app.use(authorizationServer({ publicUrl: config.publicUrl, hasDevicePage: () => config.consoleUrl() !== null }));
  app.use('/auth/token', limits.tokensPerAddress);
  app.use('/auth/device', limits.devicesPerAddress);
  app.use(callerLoader(services));
  app.use(admission.countAs(requestOwnerOf));
  app.use(limits.settleAddress);
  app.use(['/auth/login', '/auth/callback', '/auth/authorize'], limits.signInPerAddress);
  app.use('/auth/device-sign-ins', limits.userCodes);
  app.use(refuseCrossSite(config.publicUrl));
  app.use(limits.perPerson);
  const routes = (clusterRoutes as readonly ClusterRoute[]).filter(
    ({ development }) => config.devSignIn || development !== true,
  );
  app.use(
    noStore,
    mountRoutes<ClusterRoute>(routes, buildHandlers(services), {
      endInSlash: true,
      before: before(refuseWhileHeld(services.prisma)),
      bodyBounds: () => clusterBodyLimits,
    }),
  );
  app.use(unknownPath);
  app.use(['/auth/token', '/auth/device'], oauthErrors(errors));
  app.use(errorHandler(errors, log));
  return app;
}

const READY_RETRY_SECONDS = 5;

const notReady = (failing: readonly string[]): Problem =>
  new Problem('service_unavailable', `Not ready: ${failing.join(', ')}. Try again in a moment.`, {
    retryAfterSeconds: READY_RETRY_SECONDS,
  });

const consolePages = ({ config, oidc }: Services) =>
  consoleRouter({
    settings: { openIdConnect: oidc !== null, devSignIn: config.devSignIn, version: corralVersion },
    dnsEndpoint: config.dnsApi?.endpoint ?? null,
  });

/** Runs before each handler: checks the caller and the query. */
const before =
  (refuseHeld: RequestHandler) =>
  (row: ClusterRoute): RequestHandler[] => [
    admit(row),
    checkQuery(row),
    ...(isRefusedWhileHeld(row) ? [refuseHeld] : []),
    ...(row.idempotent ? [] : [refuseIdempotencyKey]),
  ];

function buildHandlers(services: Services): Readonly<Record<ClusterOperationId, RequestHandler>> {
  return {
    ...peopleRoutes(services),
    ...teamRoutes(services),
    ...invitationRoutes(services),
    ...accountRoutes(services),
    ...tokenRoutes(services, services.limits.forgiveTokenRequest),
    ...clusterHandlers(services),
    ...nodePoolRoutes(services),
    ...operationRoutes(services),
    ...kubeconfigRoutes(services),
    ...hostedNameRoutes(services),
    ...connectionRoutes(services),
    ...serverRoutes(services),
    ...catalogueRoutes(services),
    ...usageRoutes(services),
    ...billingRoutes(services),
    ...dnsRoutes(services),
    ...auditRoutes(services),
    ...eventRoutes(services),
    ...webhookRoutes(services),
  };
}
