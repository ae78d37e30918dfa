import { type DnsRoute, dnsBodyLimitsOf } from '@corral/contracts';
import { rawBody } from '@corral/service';
import { type RequestHandler, Router } from 'express';
import { DnsError } from '../dns-error.js';

/** One handler for each row of a table. */
export type HandlersOf<R extends DnsRoute> = Readonly<Record<R['operationId'], RequestHandler>>;

/**
 * Mounts the rows of the route table. A method that a path has no row for is answered 405 with the methods it has;
 * paths without a row fall through to 404.
 */
export function mountRoutes<R extends DnsRoute>(routes: readonly R[], handlers: HandlersOf<R>): Router {
  const router = Router({ caseSensitive: true });
  for (const [path, rows] of groupByPath(routes)) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const mounted = router.route(pattern);
    for (const row of rows) {
      const handler = handlers[row.operationId as R['operationId']];
      const named: RequestHandler = (_req, res, next) => {
        res.locals.route = path;
        next();
      };
      mounted[row.method](named, ...(row.kind === 'write' ? [rawBody(dnsBodyLimitsOf(row))] : []), handler);
    }
    mounted.all(refuseMethod(rows));
  }
  return router;
}

/** Literal segments before parameters, so that `/zones/actions` is not taken for a zone. */
function groupByPath<R extends DnsRoute>(routes: readonly R[]): [string, R[]][] {
  const groups = new Map<string, R[]>();
  for (const route of routes) groups.set(route.path, [...(groups.get(route.path) ?? []), route]);
  const rank = (path: string) => path.replaceAll(/\{\w+\}/g, '~');
  return [...groups].sort(([one], [other]) => (rank(one) < rank(other) ? -1 : 1));
}

function refuseMethod(rows: readonly DnsRoute[]): RequestHandler {
  const methods = rows.flatMap((row) => (row.method === 'get' ? ['GET', 'HEAD'] : [row.method.toUpperCase()]));
  const allow = methods.join(', ');
  return (req, res) => {
    res.setHeader('Allow', allow);
    throw new DnsError('method_not_allowed', `${req.method} is not supported here. Supported: ${allow}.`);
  };
}
