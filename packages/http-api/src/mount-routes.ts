import { type RequestHandler, Router } from 'express';
import { RequestFault } from './errors.js';
import { type BodySize, rawBody, refuseBody } from './requests/json-body.js';
import { spanOf } from './service-app.js';

/** Method and path of a row of a route table. */
export interface RouteRow {
  readonly operationId: string;
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** The path, with parameters in braces. */
  readonly path: string;
  /** Logs show only the pattern of the path. */
  readonly privatePath?: boolean;
  /** The schema of its body. Without it, the route takes none. */
  readonly body?: object;
}

/** One handler for each row of a table. */
export type HandlersOf<R extends RouteRow> = Readonly<Record<R['operationId'], RequestHandler>>;

export interface MountOptions<R extends RouteRow> {
  /** Handlers that run before that of a row and before its body is read: access and query. */
  readonly before?: (row: R) => readonly RequestHandler[];
  /** Limits of the body of a row, which is then read as by `rawBody`. */
  readonly bodyBounds: (row: R) => BodySize;
  /** Redirects GET requests to the path with a trailing slash. Default: both paths are served. */
  readonly endInSlash?: boolean;
  /** The router to mount them on. Default: a router of their own. */
  readonly on?: Router;
}

/**
 * Mounts the rows of a route table. A method without a row is answered 405 with the methods of the path; paths without a row
 * fall through.
 */
export function mountRoutes<R extends RouteRow>(
  routes: readonly R[],
  handlers: HandlersOf<R>,
  { before = () => [], bodyBounds, endInSlash = false, on: router = Router({ caseSensitive: true }) }: MountOptions<R>,
): Router {
  for (const [path, rows] of groupByPath(routes)) {
    const mounted = router.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    const name = nameRoute(path, rows);
    if (endInSlash) mounted.get(name, redirectToSlash);
    for (const row of rows) {
      const handler = inItsSpan(handlers[row.operationId as R['operationId']]);
      mounted[row.method](name, ...before(row), ...bodyReaders(row, bodyBounds(row)), handler);
    }
    mounted.all(name, refuseMethod(rows.map(({ method }) => method)));
  }
  return router;
}

/** A request may have waited for another one, whose end then called `next`: so its span becomes the current one here. */
const inItsSpan =
  (handler: RequestHandler): RequestHandler =>
  (req, res, next) => {
    const span = spanOf(res);
    return span === null ? handler(req, res, next) : span.run(() => handler(req, res, next));
  };

/**
 * The body of a `GET` means nothing (RFC 9110 section 9.3.1) and is not read: it can change nothing, and clients send it. Everywhere else
 * a body that a route does not take is refused, because its sender expects that it has an effect.
 */
function bodyReaders(row: RouteRow, bounds: BodySize): RequestHandler[] {
  if (row.method === 'get') return [];
  return row.body === undefined ? [rawBody(bounds), refuseBody] : [rawBody(bounds)];
}

/** Literal segments come before parameters, so that `/zones/actions` is not read as a zone. */
function groupByPath<R extends RouteRow>(routes: readonly R[]): [string, R[]][] {
  const groups = new Map<string, R[]>();
  for (const route of routes) groups.set(route.path, [...(groups.get(route.path) ?? []), route]);
  const rank = (path: string) => path.replaceAll(/\{\w+\}/g, '~');
  return [...groups].sort(([one], [other]) => (rank(one) < rank(other) ? -1 : 1));
}

function nameRoute(path: string, rows: readonly RouteRow[]): RequestHandler {
  const isPrivate = rows.some((row) => row.privatePath);
  return (_req, res, next) => {
    res.locals.route = path;
    if (isPrivate) res.locals.path = path;
    next();
  };
}

/**
 * Other methods are served without the slash, because clients repeat a redirected request without its body. Only paths of
 * the table get here, so the target is always on this service.
 */
const redirectToSlash: RequestHandler = (req, res, next) => {
  if (req.path.endsWith('/')) return next();
  const queryAt = req.url.indexOf('?');
  const query = queryAt === -1 ? '' : req.url.slice(queryAt);
  res.status(308).setHeader('Location', `${req.path}/${query}`).end();
};

function refuseMethod(methods: readonly RouteRow['method'][]): RequestHandler {
  const allow = methods.map((method) => (method === 'get' ? 'GET, HEAD' : method.toUpperCase())).join(', ');
  return (req, res) => {
    res.setHeader('Allow', allow);
    throw new RequestFault('method_not_allowed', `${req.method} is not supported here. Supported: ${allow}.`);
  };
}

/** A handler of a path outside of a route table, to mount with `all`: other methods than GET, HEAD and OPTIONS are answered 405. */
export function page(handler: RequestHandler): RequestHandler {
  const refuse = refuseMethod(['get']);
  return (req, res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD') return handler(req, res, next);
    if (req.method !== 'OPTIONS') return refuse(req, res, next);
    return void res.setHeader('Allow', 'GET, HEAD').end();
  };
}
