import express, { type Express, type Request, type Response } from 'express';
import { type Asked, openRouteTable, type RouteTable, sendJson } from '../http/route-table.js';
import type { LocalCloudAdmin } from './admin.js';

const RRSET = '/admin/rrsets/:zone/:name/:type';
const rrsetOf = ({ param }: Asked): [zone: string, name: string, type: string] => [
  param('zone'),
  param('name'),
  param('type'),
];

const adminRoutes = (admin: LocalCloudAdmin): RouteTable => ({
  'GET /admin/faults': () => ({ faults: admin.faults() }),
  'POST /admin/faults': ({ req }) => ({ faults: admin.addFaults(...[req.body].flat()) }),
  'DELETE /admin/faults': () => admin.clearFaults(),
  'GET /admin/calls': () => admin.calls(),
  'GET /admin/budget': () => admin.budget(),
  'POST /admin/clock': ({ req }) => ({ now: admin.advanceClock(Number(req.body.advanceMs)) }),
  'POST /admin/name-server': ({ req }) => admin.serveDnsLater(Number(req.body.delayMs)),
  'GET /admin/zones': () => ({ zones: admin.zones() }),
  'GET /admin/writes': () => ({ writes: admin.writes() }),
  [`PUT ${RRSET}`]: (asked) => ({ rrset: admin.putRrset(...rrsetOf(asked), asked.req.body) }),
  [`DELETE ${RRSET}`]: (asked) => admin.deleteRrset(...rrsetOf(asked)),
  'GET /admin/mails': () => ({ mails: admin.mails() }),
  'POST /admin/project-tokens': ({ req: { body } }) => admin.addProjectToken(body.token, body),
  'GET /admin/servers': () => ({ servers: admin.servers() }),
  'POST /admin/servers': ({ req }) => {
    const { token, ...options } = req.body;
    return { server: admin.addServer(token, options) };
  },
  'GET /admin/garden/shoot-history': () => ({ shoots: admin.garden.shootHistory() }),
  'POST /admin/garden/shoot-faults': ({ req }) => ({ faults: admin.garden.addShootFaults(...[req.body].flat()) }),
  'DELETE /admin/garden/shoot-faults': () => admin.garden.clearShootFaults(),
  'DELETE /admin/garden/shoots/:namespace/:name/managers': ({ param }) =>
    admin.garden.forgetManagers(param('namespace'), param('name')),
  'GET /admin/garden/shoots/:namespace/:name/nodes': ({ param }) => ({
    nodes: admin.garden.nodes(param('namespace'), param('name')),
  }),
  'PUT /admin/garden/shoots/:namespace/:name/api-server': ({ req, param }) =>
    admin.garden.useRealApiServer(param('namespace'), param('name'), req.body),
  'POST /admin/garden/watches/drop': ({ req }) => admin.garden.dropWatches(req.body),
  'POST /admin/garden/expiries': ({ req }) => admin.garden.expire(req.body),
  'PATCH /admin/garden/settings': ({ req }) => admin.garden.changeSettings(req.body),
});

/** The admin address: functions of {@link LocalCloudAdmin} over HTTP. No token needed, loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const routeOf = openRouteTable(adminRoutes(admin));
  const app = express();
  app.use(express.json({ limit: '4mb' }));
  app.use((req, res) => {
    const route = routeOf(req.path);
    if (!route?.methods.includes(req.method))
      return sendJson(res, 404, { error: `There is no ${req.method} ${req.path} on the admin address.` });
    route.serve(req, res);
  });
  app.use((error: Error, _req: Request, res: Response, _next: () => void) => {
    sendJson(res, 400, { error: error.message });
  });
  return app;
}
