import { type Request, type Response, Router } from 'express';
import { notFound } from '../api-error.js';
import type { Command, CommandKind } from '../command.js';
import type { WriteOutcome } from '../dns-project.js';
import { parseLabelSelector } from '../label-selector.js';
import type { Rrset } from '../model.js';
import { parseCommand, parseIdentity, parseJsonObject } from '../parse-command.js';
import { rrsetId } from '../rrset-table.js';
import { type DnsApiDeps, getZone, pathParam, sendPage, startedActionOf } from './api-deps.js';
import { rrsetBody } from './bodies.js';
import { pageOf, parsePage, queryValue, queryValues, sortItems } from './query.js';
import { rrsetActions } from './routes.js';

const PER_PAGE_MAX = 100;

/** Mounted at `/v1/zones/:zone/rrsets`. */
export function rrsetRoutes(deps: DnsApiDeps): Router {
  const router = Router({ mergeParams: true });

  router.get('/', (req, res) => {
    const zone = getZone(deps, req);
    const page = parsePage(req, PER_PAGE_MAX);
    const sorted = sortItems(selectRrsets(req, zone.visible.sorted()), queryValues(req, 'sort'), {
      id: ({ name, type }) => rrsetId(name, type),
      name: ({ name }) => name,
      created: ({ createdSeq }) => createdSeq,
    });
    sendPage(req, res, 'rrsets', pageOf(sorted, page), (rrset) => rrsetBody(rrset, zone.facts.id, deps.extraFields()));
  });

  router.post('/', (req, res) => {
    const body = bodyOf(req);
    const { action, rrset } = perform(req, res, parseIdentity(body), parseCommand('create', body), body);
    res.status(201).json({ rrset: rrset && bodyFor(req, rrset), action: action && startedActionOf(deps, action) });
  });

  router.get('/:name/:type', (req, res) => {
    const rrset = getZone(deps, req).visible.get(pathParam(req, 'name'), pathParam(req, 'type'));
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
    res.status(201).json({ action: action && startedActionOf(deps, action) });
  });

  for (const kind of rrsetActions) {
    router.post(`/:name/:type/actions/${kind}`, (req, res) => {
      const body = bodyOf(req);
      const { action } = perform(req, res, identityOf(req), parseCommand(kind, body), body);
      res.status(statusOf(kind)).json({ action: action && startedActionOf(deps, action) });
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

function selectRrsets(req: Request, rrsets: readonly Rrset[]): readonly Rrset[] {
  const name = queryValue(req, 'name');
  const types = queryValues(req, 'type');
  const selects = parseLabelSelector(queryValue(req, 'label_selector') ?? '');
  return rrsets.filter(
    (rrset) =>
      (name === undefined || rrset.name === name) &&
      (types.length === 0 || types.includes(rrset.type)) &&
      selects(rrset.labels),
  );
}

const identityOf = (req: Request) => ({ name: pathParam(req, 'name'), type: pathParam(req, 'type') });

const bodyOf = (req: Request) => parseJsonObject(Buffer.isBuffer(req.body) ? req.body.toString('utf8') : '');

/** The upstream answers 201 to every write, but 200 to this one. */
const statusOf = (kind: CommandKind): number => (kind === 'update_records' ? 200 : 201);
