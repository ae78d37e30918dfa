import { randomUUID } from 'node:crypto';
import type { Log, Metrics } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';

/**
 * Gives every request an id of our own making, in `res.locals.requestId` and the header `X-Correlation-Id`. An id that
 * a client sends is not taken over: it could be made to look like another request in our logs.
 */
export function requestId(): RequestHandler {
  return (_req, res, next) => {
    const id = randomUUID();
    res.locals.requestId = id;
    res.setHeader('X-Correlation-Id', id);
    next();
  };
}

const ROUTES_MAX = 300;
const PATH_MAX = 512;
const UNMATCHED = 'unmatched';

/**
 * One line and one observation at the end of each request. The query is never logged: it may hold secrets.
 *
 * The path is `res.locals.path` where a router set it, because what was sent is not for logs. A request that met no route
 * may have been meant for such a one: ids are taken out of its path.
 *
 * The route label is `res.locals.route` where a router set it, else what Express matched; a request that met no route
 * is `unmatched`. After 300 different routes the rest is `other`, so that no client can grow the metrics.
 */
export function requestLog(log: Log, metrics?: Metrics): RequestHandler {
  const routes = new Set<string>();
  const bounded = (route: string): string => {
    if (routes.has(route)) return route;
    if (routes.size >= ROUTES_MAX) return 'other';
    routes.add(route);
    return route;
  };
  const observe = metrics && cachedObserver(metrics.httpRequestSeconds);
  return (req, res, next) => {
    const startedAt = performance.now();
    const bytesBefore = req.socket.bytesWritten;
    // 'close' comes after 'finish' as well as when the client leaves: one listener sees both ends.
    res.once('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      const route = bounded(routeOf(req, res));
      observe?.({ route, method: req.method, status: res.statusCode }, seconds);
      const line: Record<string, unknown> = {
        requestId: res.locals.requestId,
        method: req.method,
        path: pathOf(req, res, route),
        route,
        status: res.statusCode,
        ms: Math.round(seconds * 1e5) / 100,
        bytes: bytesOf(req, res, bytesBefore),
        team: res.locals.team,
      };
      if (!res.writableFinished) line.aborted = true;
      if (res.statusCode >= 500) log.warn('request', line);
      else log.info('request', line);
    });
    next();
  };
}

type RequestLabels = { route: string; method: string; status: number };

/** Looks the series of a set of labels up by one short key: prom-client sorts and joins them anew for each value. */
function cachedObserver(histogram: Metrics['httpRequestSeconds']): (labels: RequestLabels, seconds: number) => void {
  const seriesOf = new Map<string, { observe(value: number): void }>();
  return (labels, seconds) => {
    const key = `${labels.status} ${labels.method} ${labels.route}`;
    let series = seriesOf.get(key);
    if (series === undefined) {
      series = histogram.labels(labels);
      seriesOf.set(key, series);
    }
    series.observe(seconds);
  };
}

const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

function pathOf(req: Request, res: Response, route: string): string {
  const shown: unknown = res.locals.path;
  if (typeof shown === 'string') return shown;
  const query = req.originalUrl.indexOf('?');
  const path = (query === -1 ? req.originalUrl : req.originalUrl.slice(0, query)).slice(0, PATH_MAX);
  return route === UNMATCHED ? path.replaceAll(uuids, '{id}') : path;
}

/** Bytes of the answer's body; for a streamed answer what went over the connection meanwhile. */
function bytesOf(req: Request, res: Response, bytesBefore: number): number {
  const length = res.getHeader('content-length');
  return length === undefined ? req.socket.bytesWritten - bytesBefore : Number(length);
}

function routeOf(req: Request, res: Response): string {
  const named: unknown = res.locals.route;
  if (typeof named === 'string') return named;
  const route: { path: unknown } | undefined = req.route;
  if (route === undefined) return UNMATCHED;
  // Absent once Express has given the request up, as it does with one whose connection was cut.
  const baseUrl: string | undefined = req.baseUrl;
  return baseUrl === undefined || baseUrl === '' ? String(route.path) : `${mountPattern(req)}${String(route.path)}`;
}

/** Express tells where a router is mounted as the client wrote it, `/teams/acme`; this makes `/teams/:team` of it. */
function mountPattern(req: Request): string {
  const names = new Map(Object.entries(req.params).map(([name, value]) => [String(value), name]));
  const segments = req.baseUrl.split('/').map((segment) => {
    const name = names.get(decoded(segment));
    return name === undefined ? segment : `:${name}`;
  });
  return segments.join('/');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
