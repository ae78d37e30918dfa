import express, { type Express, type Request, type Response } from 'express';
import type { AccountName } from '../garden/accounts.js';
import type { LocalCloudAdmin } from './admin.js';

// biome-ignore lint/suspicious/noExplicitAny: the functions behind the routes check what they are given
type Body = any;

interface Asked {
  /** Path parameters. */
  readonly params: Readonly<Record<string, string>>;
  /** An empty object if the request has no body. */
  readonly body: Body;
  readonly query: Request['query'];
}

/** A handler that returns undefined answers 204. A thrown error answers 400 with its message. */
type Handler = (asked: Asked) => unknown;

/** @throws Error that describes the expected form if the check fails */
function expect(holds: boolean, form: string): void {
  if (!holds) throw new Error(`The body is ${form}.`);
}

const account = ({ params }: Asked): AccountName => params.account as AccountName;

/** Keyed by `METHOD /path` below `/admin`. A status other than 200 precedes the method. */
const routesOf = (admin: LocalCloudAdmin): Readonly<Record<string, Handler>> => ({
  'GET /faults': () => ({ faults: admin.faults() }),
  '201 POST /faults': ({ body }) => ({ faults: admin.addFaults(...[body].flat()) }),
  'DELETE /faults': () => admin.clearFaults(),
  'GET /calls': () => admin.calls(),
  'DELETE /calls': () => admin.resetCalls(),
  'GET /budget': () => admin.budget(),
  'POST /budget': ({ body }) => admin.setBudget(body),
  'POST /clock': ({ body: { advanceMs } }) => {
    expect(Number.isFinite(advanceMs), '{"advanceMs": <number>}');
    return { now: admin.advanceClock(advanceMs) };
  },
  'GET /zones': () => ({ zones: admin.zones() }),
  'GET /writes': () => ({ writes: admin.writes() }),
  'PUT /rrsets/:zone/:name/:type': ({ params: { zone = '', name = '', type = '' }, body }) => {
    expect(Array.isArray(body.records), '{"records": [{"value", "comment"?}], "ttl"?, "labels"?}');
    return { rrset: admin.putRrset(zone, name, type, body) };
  },
  'DELETE /rrsets/:zone/:name/:type': ({ params: { zone = '', name = '', type = '' } }) =>
    admin.deleteRrset(zone, name, type),
  'GET /mails': () => ({ mails: admin.mails() }),
  'DELETE /mails': () => admin.clearMails(),
  'POST /extra-fields': ({ body }) => admin.setExtraFields(body),
  'DELETE /extra-fields': () => admin.setExtraFields({}),
  'GET /project-tokens': () => ({ tokens: admin.projectTokens() }),
  '201 POST /project-tokens': ({ body: { token, readOnly = false, sameProjectAs } }) => {
    expect(typeof token === 'string' && token !== '', '{"token": <text>, "readOnly"?, "sameProjectAs"?}');
    admin.addProjectToken(token, { readOnly: readOnly === true, sameProjectAs });
    return { tokens: admin.projectTokens() };
  },
  'DELETE /project-tokens/:token': ({ params: { token = '' } }) => admin.rejectToken(token),
  'GET /servers': () => ({ servers: admin.servers() }),
  '201 POST /servers': ({ body: { token, ...options } }) => {
    expect(typeof token === 'string' && token !== '', '{"token": <text>, "name"?, …}');
    return { server: admin.addServer(token, options) };
  },
  'PATCH /servers/:id': ({ params: { id }, body }) => ({ server: admin.changeServer(Number(id), body) }),
  'DELETE /servers/:id': ({ params: { id } }) => admin.vanishServer(Number(id)),
});

const gardenRoutesOf = ({ garden }: LocalCloudAdmin): Readonly<Record<string, Handler>> => ({
  'GET /rights/:account': (asked) => ({ rules: garden.rights(account(asked)) }),
  'PUT /rights/:account': (asked) => {
    garden.setRights(account(asked), asked.body.rules ?? []);
    return { rules: garden.rights(account(asked)) };
  },
  'DELETE /rights/:account': (asked) => garden.setRights(account(asked), null),
  'GET /contents': () => garden.contents(),
  'GET /shoot-history': () => ({ shoots: garden.shootHistory() }),
  'GET /shoot-faults': () => ({ faults: garden.shootFaults() }),
  '201 POST /shoot-faults': ({ body }) => ({ faults: garden.addShootFaults(...[body].flat()) }),
  'DELETE /shoot-faults': () => garden.clearShootFaults(),
  'POST /shoots/:namespace/:name/migration': ({ params: { namespace = '', name = '' }, body }) =>
    garden.migrateShoot(namespace, name, body.seedName),
  'PATCH /shoots/:namespace/:name': ({ params: { namespace = '', name = '' }, body }) =>
    garden.editShoot(namespace, name, body),
  'POST /shoots/:namespace/:name/maintenance': ({ params: { namespace = '', name = '' } }) =>
    garden.maintainShoot(namespace, name),
  'DELETE /shoots/:namespace/:name/managers': ({ params: { namespace = '', name = '' } }) =>
    garden.forgetManagers(namespace, name),
  'DELETE /shoots/:namespace/:name': ({ params: { namespace = '', name = '' } }) => garden.vanishShoot(namespace, name),
  'GET /shoots/:namespace/:name/nodes': ({ params: { namespace = '', name = '' } }) => ({
    nodes: garden.nodes(namespace, name),
  }),
  'PATCH /shoots/:namespace/:name/nodes/:node': ({ params: { namespace = '', name = '', node = '' }, body }) => {
    expect(typeof body.isSilent === 'boolean', '{"isSilent": <true or false>}');
    garden.silenceNode(namespace, name, node, body.isSilent);
  },
  'PUT /config-maps/:namespace/:name': ({ params: { namespace = '', name = '' }, body }) =>
    garden.writeConfigMap(namespace, name, body),
  '201 POST /machines': ({ body }) => ({ node: garden.runJoinCommand(body) }),
  'PATCH /cloud-profile': ({ body }) => garden.patchCloudProfile(body),
  'POST /watches/drop': ({ body }) => garden.dropWatches({ expireHistory: body.expireHistory === true }),
  'GET /settings': () => garden.settings(),
  'PATCH /settings': ({ body }) => garden.changeSettings(body),
});

/** The admin address: the functions of {@link LocalCloudAdmin} over HTTP. No token needed, loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(express.json({ limit: '4mb' }));
  app.get('/admin/garden/kubeconfig', ({ query }, res) => {
    res.type('application/yaml').send(admin.garden.kubeconfig(query.account as AccountName | undefined));
  });
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
    app[verb](prefix + path, ({ params, query, body = {} }, res) => {
      const answer = handler({ params: params as Asked['params'], query, body });
      if (answer === undefined) res.status(204).end();
      else res.status(Number(status)).json(answer);
    });
  }
}
