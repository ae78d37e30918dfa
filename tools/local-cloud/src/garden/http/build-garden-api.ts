import { randomUUID } from 'node:crypto';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { countCalls, RouteTable } from '../../faults/call-counts.js';
import { injectFaults } from '../../faults/fault-middleware.js';
import { refusedByRbac, refusedPath, type StatusError, unauthorized } from '../kube/status-error.js';
import { BODY_BYTES_MAX, renderFault, sendJson, sendStatusError } from './answers.js';
import { discoveryDocuments, serverVersion } from './discovery.js';
import { type GardenApiDeps, resourceHandler } from './resource-handler.js';
import { gardenRoutes, parseRequest } from './routes.js';

/** Kubernetes version of the garden cluster. */
const GARDEN_VERSION = 'v1.34.1';

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
  app.get('/readyz', serveReadiness(deps));
  app.use(requireUser(deps));
  app.use(serveDiscovery());
  app.use(express.raw({ type: () => true, limit: BODY_BYTES_MAX }));
  app.use(resourceHandler(deps));
  app.use(sendStatusError);
  return app;
}

const ANONYMOUS = 'system:anonymous';

/** A starting server is not ready. Without loaded tokens it also refuses this request. */
function serveReadiness({ settings }: GardenApiDeps): RequestHandler {
  return ({ path }, res) => {
    const { startUp } = settings();
    if (startUp === 'anonymous') throw refusedPath(ANONYMOUS, 'get', path);
    res.type('text/plain');
    if (startUp === 'over') res.send('ok');
    else res.status(500).send('[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n');
  };
}

function requireUser({ users, settings }: GardenApiDeps): RequestHandler {
  return (req, res, next) => {
    const { startUp } = settings();
    if (startUp === 'anonymous') throw refusedAltogether(ANONYMOUS, req);
    // A request without credentials is anonymous; one with invalid credentials is unauthenticated.
    if (req.get('Authorization') === undefined) throw refusedAltogether(ANONYMOUS, req);
    const token = /^Bearer +(\S+)$/i.exec(req.get('Authorization') ?? '')?.[1];
    const user = token === undefined ? undefined : users.get(token);
    if (user === undefined) throw unauthorized();
    if (startUp === 'rights') throw refusedAltogether(user.name, req);
    res.locals.user = user;
    next();
  };
}

/** The 403 of a server that grants no rights: for anonymous users, or while its rights are not loaded. */
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
