import { type ClusterOperationId, type ClusterRoute, clusterBodyLimits } from '@corral/contracts';
import { rawBody } from '@corral/service';
import { type RequestHandler, Router } from 'express';
import { Problem } from '../problem.js';
import { admit } from './caller.js';
import { refuseIdempotencyKey } from './idempotency-key.js';
import { checkQuery } from './query.js';

export type ClusterHandlers = Readonly<Record<ClusterOperationId, RequestHandler>>;

/**
 * Mounts rows of the route table. In front of each handler: the canonical path, who may call it, the query, the body.
 * A method that a path has no row for is answered 405 with the methods it has; paths without a row fall through to 404.
 */
export function mountRoutes(routes: readonly ClusterRoute[], handlers: ClusterHandlers): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, rows] of groupByPath(routes)) {
    const mounted = router.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    mounted.all(
      nameRoute(
        path,
        rows.some((row) => row.privatePath),
      ),
    );
    mounted.get(endInSlash());
    for (const row of rows) {
      const handler = handlers[row.operationId as ClusterOperationId];
      const body = row.body === undefined ? [] : [rawBody(clusterBodyLimits)];
      const keys = row.idempotent ? [] : [refuseIdempotencyKey];
      mounted[row.method](admit(row.access), checkQuery(row), ...keys, ...body, handler);
    }
    mounted.all(refuseMethod(rows));
  }
  return router;
}

function groupByPath(routes: readonly ClusterRoute[]): [string, ClusterRoute[]][] {
  const groups = new Map<string, ClusterRoute[]>();
  for (const route of routes) groups.set(route.path, [...(groups.get(route.path) ?? []), route]);
  return [...groups];
}

function nameRoute(path: string, isPrivate: boolean): RequestHandler {
  return (_req, res, next) => {
    res.locals.route = path;
    if (isPrivate) res.locals.path = path;
    // Whatever a route answers is about a team or a person.
    res.setHeader('Cache-Control', 'no-store');
    next();
  };
}

/**
 * The canonical path ends in a slash. A GET without it is sent there; other methods are served as they are, because
 * clients repeat a redirected request without its body. Only paths of the table get here, so the target is one of ours.
 */
function endInSlash(): RequestHandler {
  return (req, res, next) => {
    if (req.path.endsWith('/')) return next();
    const queryAt = req.url.indexOf('?');
    const query = queryAt === -1 ? '' : req.url.slice(queryAt);
    res.status(308).setHeader('Location', `${req.path}/${query}`).end();
  };
}

function refuseMethod(rows: readonly ClusterRoute[]): RequestHandler {
  const methods = rows.flatMap((row) => (row.method === 'get' ? ['GET', 'HEAD'] : [row.method.toUpperCase()]));
  const allow = methods.join(', ');
  return (req, res) => {
    res.setHeader('Allow', allow);
    throw new Problem('method_not_allowed', `${req.method} is not supported here. Supported: ${allow}.`);
  };
}
