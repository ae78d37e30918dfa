import express, { type Express, type Request, type Response } from 'express';
import type { LocalCloudAdmin } from './admin.js';

type Parameter = 'zone' | 'name' | 'type' | 'token' | 'namespace';

interface Asked {
  readonly params: Readonly<Record<Parameter, string>>;
  /** An empty object if the request has no body. */
  // biome-ignore lint/suspicious/noExplicitAny: the functions behind the routes check what they are given
  readonly body: any;
}

/** A handler that returns undefined answers 204. A thrown error answers 400 with its message. */
type Handler = (asked: Asked) => unknown;

/** @throws Error that describes the expected form if the check fails */
function expect(holds: boolean, form: string): void {
  if (!holds) throw new Error(`The body is ${form}.`);
}

/** Keyed by `METHOD /path` below `/admin`. A status other than 200 precedes the method. */
const routesOf = (admin: LocalCloudAdmin): Readonly<Record<string, Handler>> => ({
  'GET /faults': () => ({ faults: admin.faults() }),
  '201 POST /faults': ({ body }) => ({ faults: admin.addFaults(...[body].flat()) }),
  'DELETE /faults': () => admin.clearFaults(),
  'GET /calls': () => admin.calls(),
  'DELETE /calls': () => admin.resetCalls(),
  'GET /budget': () => admin.budget(),
  'POST /clock': ({ body: { advanceMs } }) => {
    expect(Number.isFinite(advanceMs), '{"advanceMs": <number>}');
    return { now: admin.advanceClock(advanceMs) };
  },
  'GET /zones': () => ({ zones: admin.zones() }),
  'GET /writes': () => ({ writes: admin.writes() }),
  'PUT /rrsets/:zone/:name/:type': ({ params: { zone, name, type }, body }) => {
    expect(Array.isArray(body.records), '{"records": [{"value", "comment"?}], "ttl"?, "labels"?}');
    return { rrset: admin.putRrset(zone, name, type, body) };
  },
  'DELETE /rrsets/:zone/:name/:type': ({ params: { zone, name, type } }) => admin.deleteRrset(zone, name, type),
  'GET /mails': () => ({ mails: admin.mails() }),
  'POST /project-tokens': ({ body: { token, readOnly = false, sameProjectAs } }) => {
    expect(typeof token === 'string' && token !== '', '{"token": <text>, "readOnly"?, "sameProjectAs"?}');
    admin.addProjectToken(token, { readOnly: readOnly === true, sameProjectAs });
  },
  'DELETE /project-tokens/:token': ({ params: { token } }) => admin.rejectToken(token),
  'GET /servers': () => ({ servers: admin.servers() }),
  '201 POST /servers': ({ body: { token, ...options } }) => {
    expect(typeof token === 'string' && token !== '', '{"token": <text>, "name"?, …}');
    return { server: admin.addServer(token, options) };
  },
});

const gardenRoutesOf = ({ garden }: LocalCloudAdmin): Readonly<Record<string, Handler>> => ({
  'GET /shoot-history': () => ({ shoots: garden.shootHistory() }),
  '201 POST /shoot-faults': ({ body }) => ({ faults: garden.addShootFaults(...[body].flat()) }),
  'DELETE /shoot-faults': () => garden.clearShootFaults(),
  'POST /shoots/:namespace/:name/migration': ({ params: { namespace, name } }) => garden.migrateShoot(namespace, name),
  'PATCH /shoots/:namespace/:name': ({ params: { namespace, name }, body }) => garden.editShoot(namespace, name, body),
  'DELETE /shoots/:namespace/:name/managers': ({ params: { namespace, name } }) =>
    garden.forgetManagers(namespace, name),
  'DELETE /shoots/:namespace/:name': ({ params: { namespace, name } }) => garden.vanishShoot(namespace, name),
  '201 POST /machines': ({ body }) => ({ node: garden.runJoinCommand(body) }),
  'POST /watches/drop': ({ body }) => garden.dropWatches({ expireHistory: body.expireHistory === true }),
  'POST /expiries': ({ body }) => garden.expire(body),
  'PATCH /settings': ({ body }) => garden.changeSettings(body),
});

/** The admin address: functions of {@link LocalCloudAdmin} over HTTP. No token needed, loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(express.json({ limit: '4mb' }));
  mount(app, '/admin/garden', gardenRoutesOf(admin));
  mount(app, '/admin', routesOf(admin));
  app.use(
    (req, res) => void res.status(404).json({ error: `There is no ${req.method} ${req.path} on the admin address.` }),
  );
  app.use((error: Error, _req: Request, res: Response, _next: () => void) => {
    res.status(400).json({ error: error.message });
  });
  return app;
}

function mount(app: Express, prefix: string, routes: Readonly<Record<string, Handler>>): void {
  for (const [key, handler] of Object.entries(routes)) {
    const [, status = '200', method = '', path = ''] = /^(?:(\d+) )?([A-Z]+) (.*)$/.exec(key) ?? [];
    const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    app[verb](prefix + path, ({ params, body = {} }, res) => {
      const answer = handler({ params: params as Asked['params'], body });
      if (answer === undefined) res.status(204).end();
      else res.status(Number(status)).json(answer);
    });
  }
}
