import { dnsCallerOf } from '@corral/auth';
import { clientGone, setAside } from '@corral/service';
import type { RequestHandler, Response } from 'express';
import { notFound } from '../dns-error.js';
import type { ActionProgress } from '../domain/action-progress.js';
import { parseActionIds, parseId } from '../domain/list-query.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

export interface ActionRoutesDeps {
  readonly actions: ActionProgress;
  /** Undoes what the request was charged. */
  readonly giveBack: (res: Response) => void;
}

type ActionRoute = 'listActions' | 'listZoneActions' | 'getAction' | 'getZoneAction';

/** Progress of writes to the names and types that the caller's token covers. What is foreign or unknown is not there. */
export function actionRoutes({ actions, giveBack }: ActionRoutesDeps): Record<ActionRoute, RequestHandler> {
  const find = async (res: Response, ids: readonly number[]) => {
    const { actions: found, isHeld } = await actions.find(dnsCallerOf(res), ids, {
      gone: clientGone(res),
      setAside: () => setAside(res),
    });
    // To wait for news is what clients shall do: it costs them nothing.
    if (isHeld) giveBack(res);
    return found;
  };
  const list: RequestHandler = async (req, res) => {
    const found = await find(res, parseActionIds(queryOf(req)));
    sendJsonText(res, 200, `{"actions":[${found.map((action) => action.body).join(',')}]}`);
  };
  const get: RequestHandler = async (req, res) => {
    const id = parseId(req.params.id as string);
    const [action] = id === null ? [] : await find(res, [id]);
    if (action === undefined) throw notFound('action');
    sendJsonText(res, 200, `{"action":${action.body}}`);
  };
  return { listActions: list, listZoneActions: list, getAction: get, getZoneAction: get };
}
