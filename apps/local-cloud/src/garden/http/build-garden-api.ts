import { randomUUID } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Clock } from '../../clock.js';
import { type CallCounts, countCalls } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import { RouteTable } from '../../faults/route-table.js';
import type { GardenSettings } from '../garden-settings.js';
import {
  badRequest,
  internalError,
  refusedByRbac,
  refusedPath,
  StatusError,
  unauthorized,
} from '../kube/status-error.js';
import type { Objects } from '../rest/objects.js';
import type { AccountName } from '../rights/accounts.js';
import type { Rights } from '../rights/rights.js';
import type { ObjectStore } from '../store/object-store.js';
import { discoveryDocuments, serverVersion } from './discovery.js';
import { gardenRoutes } from './garden-routes.js';
import { renderFault } from './render-fault.js';
import { parseRequest } from './request-info.js';
import { resourceHandler } from './resource-handler.js';
import { sendJson } from './send-json.js';
import type { Watches } from './watch.js';

const BODY_BYTES_MAX = 3 * 1024 * 1024;

/** Version of Kubernetes that the garden itself runs on. */
const GARDEN_VERSION = 'v1.34.1';

export interface GardenUser {
  readonly name: string;
  readonly account: AccountName;
}

/** Makes the answer to a kubeconfig request. */
export type IssueKubeconfig = (request: {
  namespace: string;
  name: string;
  access: 'admin' | 'viewer';
  user: string;
  expirationSeconds: number | undefined;
}) => Promise<{ kubeconfig: string; expirationSeconds: number; expirationTimestamp: string }>;

export interface GardenApiDeps {
  readonly store: ObjectStore;
  readonly objects: Objects;
  readonly watches: Watches;
  readonly clock: Clock;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  /** By bearer token. */
  readonly users: ReadonlyMap<string, GardenUser>;
  readonly rights: Rights;
  readonly settings: () => Pick<GardenSettings, 'startUp'>;
  readonly issueKubeconfig: IssueKubeconfig;
}

/** The Kubernetes API of the garden cluster. */
export function buildGardenApi(deps: GardenApiDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((_req, res, next) => {
    res.set({ 'Audit-Id': randomUUID(), 'Cache-Control': 'no-cache, private' });
    next();
  });
  app.use(countCalls(deps.calls, new RouteTable(gardenRoutes)));
  app.use(injectFaults(deps.faults, renderFault, 'garden'));
  app.get('/version', (_req, res) => sendJson(res, 200, serverVersion(GARDEN_VERSION)));
  app.get(['/healthz', '/livez', '/readyz'], serveHealth(deps));
  app.use(requireUser(deps));
  app.use(serveDiscovery());
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(resourceHandler(deps));
  app.use(sendStatusError);
  return app;
}

const ANONYMOUS = 'system:anonymous';

/** While it starts, a server is alive and not ready; one that knows no tokens yet lets nobody ask. */
function serveHealth({ settings }: GardenApiDeps): RequestHandler {
  return ({ path }, res) => {
    const { startUp } = settings();
    if (startUp === 'anonymous') throw refusedPath(ANONYMOUS, 'get', path);
    const isReady = startUp === 'over' || path === '/livez';
    const said = isReady
      ? 'ok'
      : '[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n';
    res
      .status(isReady ? 200 : 500)
      .type('text/plain')
      .send(said);
  };
}

function requireUser({ users, settings }: GardenApiDeps): RequestHandler {
  return (req, res, next) => {
    const { startUp } = settings();
    if (startUp === 'anonymous') throw refusedAltogether(ANONYMOUS, req);
    // Whoever shows nothing is somebody without a name; whoever shows what is wrong is nobody.
    if (req.get('Authorization') === undefined) throw refusedAltogether(ANONYMOUS, req);
    const token = /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1];
    const user = token === undefined ? undefined : users.get(token);
    if (user === undefined) throw unauthorized();
    if (startUp === 'rights') throw refusedAltogether(user.name, req);
    res.locals.user = user;
    next();
  };
}

/** In the words of a server that grants nothing: to somebody without a name, or while its rights are not loaded. */
function refusedAltogether(user: string, { method, originalUrl, path }: Request): StatusError {
  try {
    const request = parseRequest(method, originalUrl);
    return refusedByRbac(request.kind, { ...request, user });
  } catch {
    return refusedPath(user, method.toLowerCase(), path);
  }
}

function serveDiscovery(): RequestHandler {
  return (req, res, next) => {
    const document = req.method === 'GET' ? discoveryDocuments.get(req.path.replace(/\/$/, '')) : undefined;
    if (document === undefined) next();
    else sendJson(res, 200, document);
  };
}

const sendStatusError: ErrorRequestHandler = (error, _req, res, _next) => {
  const refusal = error instanceof StatusError ? error : refusalOf(error);
  const { retryAfterSeconds } = refusal.details ?? {};
  if (retryAfterSeconds !== undefined) res.set('Retry-After', String(retryAfterSeconds));
  sendJson(res, refusal.code, refusal.toStatus());
};

/** What Express itself refuses, and what nobody expected. */
function refusalOf(error: { status?: number; message?: string }): StatusError {
  if (error.status === 413) {
    return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${BODY_BYTES_MAX}`);
  }
  return error.status === 400 ? badRequest(String(error.message)) : internalError(String(error.message));
}
