import { type Request, Router } from 'express';
import { ApiError, invalidInput, notFound } from '../api-error.js';
import type { Action } from '../model.js';
import { actionOf, type DnsApiDeps, getZone, pathParam, sendPage } from './api-deps.js';
import { actionStatus } from './bodies.js';
import { pageOf, parsePage, queryValues, sortItems } from './query.js';

const PER_PAGE_MAX = 50;

/** Mounted at `/v1`, before the zones: `actions` is not the name of a zone. */
export function actionRoutes(deps: DnsApiDeps): Router {
  const router = Router();

  router.get('/actions', (req, res) => {
    const ids = parseIds(req);
    if (ids.length === 0) throw listingIsGone();
    res.json({ actions: known(ids).map((action) => actionOf(deps, action)) });
  });

  router.get('/zones/actions', (req, res) => {
    const ids = parseIds(req);
    const statuses = queryValues(req, 'status');
    const found = (ids.length === 0 ? deps.project.actions() : known(ids)).filter(
      (action) => statuses.length === 0 || statuses.includes(statusOf(action)),
    );
    const sorted = sortItems(found, queryValues(req, 'sort'), {
      id: ({ id }) => id,
      command: ({ command }) => command,
      status: statusOf,
      started: ({ startedAt }) => startedAt,
      finished: ({ finishesAt }) => finishesAt,
    });
    sendPage(req, res, 'actions', pageOf(sorted, parsePage(req, PER_PAGE_MAX)), (action) => actionOf(deps, action));
  });

  router.get(['/actions/:action', '/zones/actions/:action'], (req, res) => {
    res.json({ action: actionOf(deps, getAction(req)) });
  });

  router.get('/zones/:zone/actions/:action', (req, res) => {
    const zone = getZone(deps, req);
    const action = getAction(req);
    if (action.zoneId !== zone.facts.id) throw notFound('action');
    res.json({ action: actionOf(deps, action) });
  });
  return router;

  function statusOf(action: Action): string {
    return actionStatus(action, deps.clock.now());
  }

  function known(ids: readonly number[]): Action[] {
    return [...new Set(ids)].sort((a, b) => a - b).flatMap((id) => deps.project.findAction(id) ?? []);
  }

  function getAction(req: Request): Action {
    const text = pathParam(req, 'action');
    const action = /^\d{1,16}$/.test(text) ? deps.project.findAction(Number(text)) : null;
    if (action === null) throw notFound('action');
    return action;
  }
}

function parseIds(req: Request): number[] {
  return queryValues(req, 'id').map((text) => {
    if (!/^\d{1,16}$/.test(text)) throw invalidInput('id', `invalid id '${text}'`);
    return Number(text);
  });
}

/** Asking for all actions of the project was removed from the upstream in January 2025. */
function listingIsGone(): ApiError {
  const announcement =
    'https://docs.hetzner.cloud/changelog#2025-01-30-listing-arbitrary-actions-in-the-actions-list-endpoint-is-removed';
  return new ApiError(410, 'deprecated_api_endpoint', 'listing actions needs at least one id', { announcement });
}
