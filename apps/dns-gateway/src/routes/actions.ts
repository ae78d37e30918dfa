import { dnsCallerOf } from '@corral/auth';
import type { RequestHandler } from 'express';
import { notFound } from '../dns-error.js';
import type { ActionProgress } from '../domain/action-progress.js';
import { parseActionIds, parseId } from '../domain/list-query.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

export interface ActionRoutesDeps {
  readonly actions: ActionProgress;
}

type ActionRoute = 'listActions' | 'listZoneActions' | 'getAction' | 'getZoneAction';

/** Progress of writes to the names and types that the caller's token covers. What is foreign or unknown is not there. */
export function actionRoutes({ actions }: ActionRoutesDeps): Record<ActionRoute, RequestHandler> {
  const list: RequestHandler = async (req, res) => {
    const ids = parseActionIds(queryOf(req));
    const found = await actions.find(dnsCallerOf(res), ids);
    sendJsonText(res, 200, `{"actions":[${found.map((action) => action.body).join(',')}]}`);
  };
  const get: RequestHandler = async (req, res) => {
    const id = parseId(req.params.id as string);
    const [action] = id === null ? [] : await actions.find(dnsCallerOf(res), [id]);
    if (action === undefined) throw notFound('action');
    sendJsonText(res, 200, `{"action":${action.body}}`);
  };
  return { listActions: list, listZoneActions: list, getAction: get, getZoneAction: get };
}
