import express, { type Express, type Request, type Response } from 'express';
import type { LocalCloudAdmin } from './admin.js';

interface Asked {
  readonly params: Readonly<Record<'zone' | 'name' | 'type' | 'token' | 'namespace', string>>;
  /** An empty object if the request has no body. */
  // biome-ignore lint/suspicious/noExplicitAny: only tests and people on this machine call it
  readonly body: any;
}

/** Keyed by `METHOD /path` below `/admin`. A handler that returns undefined answers 204, and POST of a result 201. */
const routesOf = (admin: LocalCloudAdmin): Readonly<Record<string, (asked: Asked) => unknown>> => ({
  'GET /faults': () => ({ faults: admin.faults() }),
  'POST /faults': ({ body }) => ({ faults: admin.addFaults(...[body].flat()) }),
  'DELETE /faults': () => admin.clearFaults(),
  'GET /calls': () => admin.calls(),
  'GET /budget': () => admin.budget(),
  'POST /clock': ({ body }) => ({ now: admin.advanceClock(Number(body.advanceMs)) }),
  'GET /zones': () => ({ zones: admin.zones() }),
  'GET /writes': () => ({ writes: admin.writes() }),
  'PUT /rrsets/:zone/:name/:type': ({ params: { zone, name, type }, body }) => ({
    rrset: admin.putRrset(zone, name, type, body),
  }),
  'DELETE /rrsets/:zone/:name/:type': ({ params: { zone, name, type } }) => admin.deleteRrset(zone, name, type),
  'GET /mails': () => ({ mails: admin.mails() }),
  'POST /project-tokens': ({ body: { token, ...options } }) => admin.addProjectToken(token, options),
  'DELETE /project-tokens/:token': ({ params: { token } }) => admin.rejectToken(token),
  'GET /servers': () => ({ servers: admin.servers() }),
  'POST /servers': ({ body: { token, ...options } }) => ({ server: admin.addServer(token, options) }),
  'GET /garden/shoot-history': () => ({ shoots: admin.garden.shootHistory() }),
  'POST /garden/shoot-faults': ({ body }) => ({ faults: admin.garden.addShootFaults(...[body].flat()) }),
  'DELETE /garden/shoot-faults': () => admin.garden.clearShootFaults(),
  'DELETE /garden/shoots/:namespace/:name/managers': ({ params: { namespace, name } }) =>
    admin.garden.forgetManagers(namespace, name),
  'POST /garden/machines': ({ body }) => ({ node: admin.garden.runJoinCommand(body) }),
  'POST /garden/watches/drop': ({ body }) => admin.garden.dropWatches(body),
  'POST /garden/expiries': ({ body }) => admin.garden.expire(body),
  'PATCH /garden/settings': ({ body }) => admin.garden.changeSettings(body),
});

/** The admin address: functions of {@link LocalCloudAdmin} over HTTP. No token needed, loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(express.json({ limit: '4mb' }));
  for (const [key, handler] of Object.entries(routesOf(admin))) {
    const [method = '', path = ''] = key.split(' ');
    const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    app[verb](`/admin${path}`, ({ params, body = {} }, res) => {
      const answer = handler({ params: params as Asked['params'], body });
      if (answer === undefined) res.status(204).end();
      else res.status(method === 'POST' ? 201 : 200).json(answer);
    });
  }
  app.use(
    (req, res) => void res.status(404).json({ error: `There is no ${req.method} ${req.path} on the admin address.` }),
  );
  app.use((error: Error, _req: Request, res: Response, _next: () => void) => {
    res.status(400).json({ error: error.message });
  });
  return app;
}
