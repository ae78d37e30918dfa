import { callerRoot, dnsCallerOf } from '@corral/auth';
import type { ActionStore } from '@corral/dns-mirror';
import { clientGone, setAside } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import { notFound } from '../dns-error.js';
import type { ActionProgress } from '../domain/action-progress.js';
import { paginationOf, parseActionIds, parseActionQuery, parseId } from '../domain/list-query.js';
import type { Zones } from '../domain/zone-directory.js';
import { queryOf } from '../http/query.js';
import { sendJsonText } from '../http/send.js';

export interface ActionRoutesDeps {
  readonly actions: ActionProgress;
  readonly store: Pick<ActionStore, 'pageActions'>;
  readonly zones: Zones;
  /** Undoes what the request was charged. */
  readonly giveBack: (res: Response) => void;
}

type ActionRoute = 'listActions' | 'listZoneActions' | 'listActionsOfZone' | 'getAction' | 'getZoneAction';

/** Progress of writes to the names and types that the caller's token covers. What is foreign or unknown is not there. */
export function actionRoutes(deps: ActionRoutesDeps): Record<ActionRoute, RequestHandler> {
  const { actions, giveBack } = deps;
  const find = async (res: Response, ids: readonly number[]) => {
    const { actions: found, isHeld } = await actions.find(dnsCallerOf(res), ids, {
      gone: clientGone(res),
      setAside: () => setAside(res),
    });
    // To wait for news is what clients shall do: it costs them nothing.
    if (isHeld) giveBack(res);
    return found;
  };
  const list = async (req: Request, res: Response): Promise<void> => {
    const found = await find(res, parseActionIds(queryOf(req)));
    sendJsonText(res, 200, `{"actions":[${found.map((action) => action.body).join(',')}]}`);
  };
  /** Those that are asked for by id, as they get on; else a page of all, as they were last known. */
  const listOrPage: RequestHandler = async (req, res) => {
    const caller = dnsCallerOf(res);
    const query = queryOf(req);
    const zone = deps.zones.of(caller);
    if (req.params.zone !== undefined) await zone.resolve(req.params.zone as string);
    if (query.has('id')) {
      await list(req, res);
      return;
    }
    const { page, perPage, ...selection } = parseActionQuery(query);
    const { total, bodies } = await deps.store.pageActions({
      ...{ ownerId: caller.ownerId, root: callerRoot(caller), types: caller.withinTypes, ...selection },
      ...{ limit: perPage, offset: (page - 1) * perPage },
    });
    const meta = { pagination: paginationOf({ page, perPage }, total) };
    sendJsonText(res, 200, `{"actions":[${bodies}],"meta":${JSON.stringify(meta)}}`);
  };
  const get: RequestHandler = async (req, res) => {
    const id = parseId(req.params.id as string);
    const [action] = id === null ? [] : await find(res, [id]);
    if (action === undefined) throw notFound('action');
    sendJsonText(res, 200, `{"action":${action.body}}`);
  };
  return {
    ...{ listActions: list, listZoneActions: listOrPage, listActionsOfZone: listOrPage },
    ...{ getAction: get, getZoneAction: get },
  };
}
