import { type Request, type Response, Router } from 'express';
import { notFound } from '../hcloud/api-error.js';
import { queryValue, queryValues, sendPage } from '../hcloud/query.js';
import { rrsetActions } from '../hcloud/routes.js';
import { actionOf, type DnsApiDeps, getZone, JUST_STARTED, pathParam, rrsetBody, zoneBody } from './bodies.js';
import type { WriteOutcome } from './dns-project.js';
import type { Rrset } from './model.js';
import { type Command, parseCommand, parseJsonObject } from './parse-command.js';

/** Mounted at `/v1`. */
export function actionRoutes(deps: DnsApiDeps): Router {
  const router = Router();

  router.get('/actions', (req, res) => {
    const ids = queryValues(req, 'id').map(Number);
    const known = [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => deps.project.findAction(id) ?? []);
    res.json({ actions: known.map((action) => actionOf(deps, action)) });
  });

  router.get('/actions/:action', (req, res) => {
    const action = deps.project.findAction(Number(pathParam(req, 'action')));
    if (action === null) throw notFound('action');
    res.json({ action: actionOf(deps, action) });
  });
  return router;
}

const RRSETS_PER_PAGE_MAX = 100;

/** Mounted at `/v1/zones`. */
export function zoneRoutes(deps: DnsApiDeps): Router {
  const router = Router();
  router.get('/', (req, res) => {
    const name = queryValue(req, 'name');
    const found = deps.project.zones().filter(({ facts }) => name === undefined || facts.name === name);
    sendPage(res, 'zones', found, (zone) => zoneBody(zone, deps.extraFields()));
  });
  router.get('/:zone', (req, res) => {
    res.json({ zone: zoneBody(getZone(deps, req), deps.extraFields()) });
  });
  return router;
}

/** Mounted at `/v1/zones/:zone/rrsets`. */
export function rrsetRoutes(deps: DnsApiDeps): Router {
  const router = Router({ mergeParams: true });

  router.get('/', (req, res) => {
    const zone = getZone(deps, req);
    const render = (rrset: Rrset) => rrsetBody(rrset, zone.facts.id, deps.extraFields());
    sendPage(res, 'rrsets', zone.table.sorted(), render, RRSETS_PER_PAGE_MAX);
  });

  router.post('/', (req, res) => {
    const body = bodyOf(req);
    const { action, rrset } = perform(
      req,
      res,
      { name: body.name, type: body.type },
      parseCommand('create', body),
      body,
    );
    res
      .status(201)
      .json({ rrset: rrset && bodyFor(req, rrset), action: action && actionOf(deps, action, JUST_STARTED) });
  });

  router.get('/:name/:type', (req, res) => {
    const rrset = getZone(deps, req).table.get(pathParam(req, 'name'), pathParam(req, 'type'));
    if (rrset === null) throw notFound('rrset');
    res.json({ rrset: bodyFor(req, rrset) });
  });

  router.put('/:name/:type', (req, res) => {
    const body = bodyOf(req);
    const { rrset } = perform(req, res, identityOf(req), parseCommand('put_labels', body), body);
    res.json({ rrset: rrset && bodyFor(req, rrset) });
  });

  router.delete('/:name/:type', (req, res) => {
    const { action } = perform(req, res, identityOf(req), { kind: 'delete' }, null);
    res.status(201).json({ action: action && actionOf(deps, action, JUST_STARTED) });
  });

  for (const kind of rrsetActions) {
    router.post(`/:name/:type/actions/${kind}`, (req, res) => {
      const body = bodyOf(req);
      const { action } = perform(req, res, identityOf(req), parseCommand(kind, body), body);
      res.status(201).json({ action: action && actionOf(deps, action, JUST_STARTED) });
    });
  }
  return router;

  function perform(
    req: Request,
    res: Response,
    identity: { name: string; type: string },
    command: Command,
    body: unknown,
  ): WriteOutcome {
    const request = { method: req.method, path: req.originalUrl, body };
    return deps.project.write(getZone(deps, req), identity, command, request, res.locals.actionError ?? null);
  }

  function bodyFor(req: Request, rrset: Rrset) {
    return rrsetBody(rrset, getZone(deps, req).facts.id, deps.extraFields());
  }
}

const identityOf = (req: Request) => ({ name: pathParam(req, 'name'), type: pathParam(req, 'type') });

const bodyOf = (req: Request) => parseJsonObject(req.body);
