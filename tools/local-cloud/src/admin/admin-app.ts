import express, { type Express, type Request, type Response } from 'express';
import { param, type Routes, sendJson, serveRoutes } from '../http/serve-routes.js';
import type { LocalCloudAdmin } from './admin.js';

const RRSET = '/admin/rrsets/:zone/:name/:type';
const SHOOT = '/admin/garden/shoots/:namespace/:name';
const rrsetOf = (req: Request) => [param(req, 'zone'), param(req, 'name'), param(req, 'type')] as const;
const shootOf = (req: Request) => [param(req, 'namespace'), param(req, 'name')] as const;

const adminRoutes = (admin: LocalCloudAdmin): Routes => ({
  'POST /admin/faults': ({ body }) => admin.addFaults(...[body].flat()),
  'DELETE /admin/faults': () => admin.clearFaults(),
  'GET /admin/calls': () => admin.calls(),
  'GET /admin/budget': () => admin.budget(),
  'POST /admin/name-server': ({ body }) => admin.serveDnsLater(Number(body.delayMs)),
  'GET /admin/zones': () => ({ zones: admin.zones() }),
  'GET /admin/writes': () => ({ writes: admin.writes() }),
  [`PUT ${RRSET}`]: (req) => ({ rrset: admin.putRrset(...rrsetOf(req), req.body) }),
  [`DELETE ${RRSET}`]: (req) => admin.deleteRrset(...rrsetOf(req)),
  'GET /admin/mails': () => ({ mails: admin.mails() }),
  'POST /admin/project-tokens': ({ body }) => admin.addProjectToken(body.token, body),
  'GET /admin/servers': () => ({ servers: admin.servers() }),
  'POST /admin/servers': ({ body: { token, ...options } }) => ({ server: admin.addServer(token, options) }),
  'GET /admin/garden/shoot-history': () => ({ shoots: admin.garden.shootHistory() }),
  'POST /admin/garden/shoot-faults': ({ body }) => admin.garden.addShootFaults(...[body].flat()),
  'DELETE /admin/garden/shoot-faults': () => admin.garden.clearShootFaults(),
  [`DELETE ${SHOOT}/managers`]: (req) => admin.garden.forgetManagers(...shootOf(req)),
  [`GET ${SHOOT}/nodes`]: (req) => ({ nodes: admin.garden.nodes(...shootOf(req)) }),
  [`PUT ${SHOOT}/api-server`]: (req) => admin.garden.useRealApiServer(...shootOf(req), req.body),
  'POST /admin/garden/watches/drop': ({ body }) => admin.garden.dropWatches(body),
  'POST /admin/garden/expiries': ({ body }) => admin.garden.expire(body),
  'PATCH /admin/garden/settings': ({ body }) => admin.garden.changeSettings(body),
});

/** The admin address: functions of {@link LocalCloudAdmin} over HTTP. No token needed, loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const app = express();
  app.use(express.json({ limit: '4mb' }));
  serveRoutes(app, adminRoutes(admin));
  app.use((req, res) => {
    sendJson(res, 404, { error: `There is no ${req.method} ${req.path} on the admin address.` });
  });
  app.use((error: Error, _req: Request, res: Response, _next: () => void) => {
    sendJson(res, 400, { error: error.message });
  });
  return app;
}
