import { dnsCallerOf } from '@corral/auth';
import { parseNumber } from '@corral/contracts';
import { queryOf, scopeOf, sendJsonText } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { notFound } from '../dns-error.js';
import { paginationOf, parseActionIds, parseActionQuery } from '../http/request.js';
import type { Services } from '../services.js';
import { findActions } from './follow-actions.js';

type ActionRoute =
  | 'listActions'
  | 'listZoneActions'
  | 'listActionsOfZone'
  | 'getAction'
  | 'getZoneAction'
  | 'getActionOfZone';

/** Progress of writes to names and types that the token covers. Foreign and unknown actions do not exist for the caller. */
export function actionRoutes(services: Services): Record<ActionRoute, RequestHandler> {
  /** @throws DnsError when the path names a zone that is not the caller's */
  const checkZone = async ({ params }: Request, res: Response): Promise<void> => {
    if (params.zone !== undefined) await services.zones.of(dnsCallerOf(res)).resolve(params.zone as string);
  };
  const find = async (res: Response, ids: readonly number[]) => {
    const { actions: found, isHeld } = await findActions(services, dnsCallerOf(res), ids, scopeOf(res));
    // Waiting for an end is what clients should do, so it is free.
    if (isHeld) services.limits.giveBack(res);
    return found;
  };
  const list = async (req: Request, res: Response): Promise<void> => {
    const found = await find(res, parseActionIds(queryOf(req)));
    sendJsonText(res, 200, `{"actions":[${found.map((action) => action.body).join(',')}]}`);
  };
  /** Answers the current state of the named actions, or a page of all actions in their last known state. */
  const listOrPage: RequestHandler = async (req, res) => {
    const caller = dnsCallerOf(res);
    const query = queryOf(req);
    await checkZone(req, res);
    if (query.has('id')) {
      await list(req, res);
      return;
    }
    const { page, perPage, ...selection } = parseActionQuery(query);
    const { total, bodies } = await services.actions.pageActions({
      ownerId: caller.ownerId,
      withinName: caller.withinName,
      types: caller.withinTypes,
      ...selection,
      limit: perPage,
      offset: (page - 1) * perPage,
      propagationMsMax: services.propagation === null || caller.kind !== 'team' ? 0 : services.config.propagationMsMax,
    });
    const meta = { pagination: paginationOf({ page, perPage }, total) };
    sendJsonText(res, 200, `{"actions":[${bodies}],"meta":${JSON.stringify(meta)}}`);
  };
  const get: RequestHandler = async (req, res) => {
    await checkZone(req, res);
    const id = parseNumber(req.params.id as string);
    const [action] = id === null ? [] : await find(res, [id]);
    if (action === undefined) throw notFound('action');
    sendJsonText(res, 200, `{"action":${action.body}}`);
  };
  return {
    listActions: list,
    listZoneActions: listOrPage,
    listActionsOfZone: listOrPage,
    getAction: get,
    getZoneAction: get,
    getActionOfZone: get,
  };
}
