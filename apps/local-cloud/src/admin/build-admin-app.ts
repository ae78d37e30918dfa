import express, { type ErrorRequestHandler, type Express } from 'express';
import type { LocalCloudAdmin } from './admin.js';
import { gardenAdminRoutes } from './garden-admin-routes.js';

/** The admin address: the same functions over HTTP, without a token and for loopback only. */
export function buildAdminApp(admin: LocalCloudAdmin): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(express.json({ limit: '4mb' }));

  app.get('/admin/faults', (_req, res) => void res.json({ faults: admin.faults() }));
  app.post('/admin/faults', (req, res) => {
    res.status(201).json({ faults: admin.addFaults(...[req.body].flat()) });
  });
  app.delete('/admin/faults', (_req, res) => {
    admin.clearFaults();
    res.status(204).end();
  });

  app.get('/admin/calls', (_req, res) => void res.json(admin.calls()));
  app.delete('/admin/calls', (_req, res) => {
    admin.resetCalls();
    res.status(204).end();
  });

  app.get('/admin/budget', (_req, res) => void res.json(admin.budget()));
  app.post('/admin/budget', (req, res) => void res.json(admin.setBudget(req.body ?? {})));
  app.post('/admin/clock', (req, res) => {
    const { advanceMs } = req.body ?? {};
    if (!Number.isFinite(advanceMs)) throw new Error('The body is {"advanceMs": <number>}.');
    res.json({ now: admin.advanceClock(advanceMs) });
  });

  app.get('/admin/zones', (_req, res) => void res.json({ zones: admin.zones() }));
  app.get('/admin/writes', (_req, res) => void res.json({ writes: admin.writes() }));
  app.put('/admin/rrsets/:zone/:name/:type', ({ params: { zone, name, type }, body }, res) => {
    if (!Array.isArray(body?.records))
      throw new Error('The body is {"records": [{"value", "comment"?}], "ttl"?, "labels"?}.');
    res.json({ rrset: admin.putRrset(zone, name, type, body) });
  });
  app.delete('/admin/rrsets/:zone/:name/:type', ({ params: { zone, name, type } }, res) => {
    admin.deleteRrset(zone, name, type);
    res.status(204).end();
  });

  app.get('/admin/mails', (_req, res) => void res.json({ mails: admin.mails() }));
  app.delete('/admin/mails', (_req, res) => {
    admin.clearMails();
    res.status(204).end();
  });

  app.post('/admin/extra-fields', (req, res) => {
    admin.setExtraFields(req.body ?? {});
    res.status(204).end();
  });
  app.delete('/admin/extra-fields', (_req, res) => {
    admin.setExtraFields({});
    res.status(204).end();
  });

  app.get('/admin/project-tokens', (_req, res) => void res.json({ tokens: admin.projectTokens() }));
  app.post('/admin/project-tokens', (req, res) => {
    const { token, readOnly = false, sameProjectAs } = req.body ?? {};
    if (typeof token !== 'string' || token === '') throw new Error('The body is {"token": <text>, "readOnly"?}.');
    admin.addProjectToken(token, { readOnly: readOnly === true, sameProjectAs });
    res.status(201).json({ tokens: admin.projectTokens() });
  });
  app.delete('/admin/project-tokens/:token', ({ params: { token } }, res) => {
    admin.rejectToken(token);
    res.status(204).end();
  });

  app.get('/admin/servers', (_req, res) => void res.json({ servers: admin.servers() }));
  app.post('/admin/servers', (req, res) => {
    const { token, ...options } = req.body ?? {};
    if (typeof token !== 'string' || token === '') throw new Error('The body is {"token": <text>, "name"?, …}.');
    res.status(201).json({ server: admin.addServer(token, options) });
  });
  app.patch('/admin/servers/:id', ({ params: { id }, body }, res) => {
    res.json({ server: admin.changeServer(Number(id), body ?? {}) });
  });
  app.delete('/admin/servers/:id', ({ params: { id } }, res) => {
    admin.vanishServer(Number(id));
    res.status(204).end();
  });
  app.use('/admin/garden', gardenAdminRoutes(admin.garden));

  app.use(
    (req, res) => void res.status(404).json({ error: `There is no ${req.method} ${req.path} on the admin address.` }),
  );
  app.use(sendError);
  return app;
}

const sendError: ErrorRequestHandler = (error: Error, _req, res, _next) => {
  res.status(400).json({ error: error.message });
};
