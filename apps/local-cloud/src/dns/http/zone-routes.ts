import { Router } from 'express';
import { parseLabelSelector } from '../label-selector.js';
import { type DnsApiDeps, getZone, sendPage } from './api-deps.js';
import { zoneBody } from './bodies.js';
import { pageOf, parsePage, queryValue, queryValues, sortItems } from './query.js';

const PER_PAGE_MAX = 50;

/** Mounted at `/v1/zones`. */
export function zoneRoutes(deps: DnsApiDeps): Router {
  const router = Router();
  router.get('/', (req, res) => {
    const page = parsePage(req, PER_PAGE_MAX);
    const name = queryValue(req, 'name');
    const modes = queryValues(req, 'mode');
    const selects = parseLabelSelector(queryValue(req, 'label_selector') ?? '');
    const found = deps.project
      .zones()
      .filter(({ facts }) => name === undefined || facts.name === name)
      .filter(({ facts }) => (modes.length === 0 || modes.includes('primary')) && selects(facts.labels));
    const sorted = sortItems(found, queryValues(req, 'sort'), {
      id: ({ facts }) => facts.id,
      name: ({ facts }) => facts.name,
      created: ({ facts }) => facts.created,
    });
    sendPage(req, res, 'zones', pageOf(sorted, page), (zone) => zoneBody(zone, deps.extraFields()));
  });
  router.get('/:zone', (req, res) => {
    res.json({ zone: zoneBody(getZone(deps, req), deps.extraFields()) });
  });
  return router;
}
