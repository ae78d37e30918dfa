import { randomUUID } from 'node:crypto';
import { type Log, type Metrics, type OpenSpan, openSpan, parseTraceparent } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';

/** Asked every few seconds by machines. */
const untracedPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Gives every request a new id, in `res.locals.requestId` and `X-Correlation-Id`. Ids of clients are not used: a client
 * could imitate another request in our logs. If a trace begins with the request, its id is that of the trace.
 *
 * `res.locals.traceId` is the id of the trace that the request is a part of: that of the client, if it sent a valid
 * `traceparent`, which several requests may share. `res.locals.span` is its open span, while the service makes traces.
 */
export function requestId(): RequestHandler {
  return (req, res, next) => {
    const { traceparent } = req.headers;
    const ofClient = parseTraceparent(traceparent);
    const parent = ofClient === null ? null : (traceparent as string);
    const span = untracedPaths.has(req.path) ? null : openSpan(req.method, { kind: 'server', parent });
    const id = span === null || ofClient !== null ? randomUUID() : uuidOf(span.traceId);
    res.locals.requestId = id;
    res.setHeader('X-Correlation-Id', id);
    res.locals.traceId = span?.traceId ?? ofClient?.traceId;
    res.locals.span = span;
    next();
  };
}

/** The same 128 bits as a UUID. */
const uuidOf = (traceId: string): string => traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** The open span of a request; null if the service makes no traces. */
export const spanOf = ({ locals }: Pick<Response, 'locals'>): OpenSpan | null =>
  (locals.span as OpenSpan | null | undefined) ?? null;

/** Others are `_OTHER`. @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/http/ */
const methods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
]);
const methodOf = ({ method }: Request): string => (methods.has(method) ? method : '_OTHER');

const ROUTES_MAX = 300;
const PATH_MAX = 512;
const UNMATCHED = 'unmatched';

/**
 * Writes one log line and one observation at the end of each request. The query is never logged, because it may contain secrets.
 *
 * The path is `res.locals.path` if a router set it, for paths that are private. A request without a route may have been meant
 * for one of those, so ids are removed from its path.
 *
 * The route label is `res.locals.route` if a router set it, else the pattern that Express matched; requests without a route are
 * `unmatched`. After 300 different routes the label is `other`, so that clients cannot grow the metrics. For the same reason unknown
 * methods are `_OTHER`, and answers 405 are not observed.
 */
export function requestLog(log: Log, metrics?: Metrics): RequestHandler {
  const routes = new Set<string>();
  const bounded = (route: string): string => {
    if (routes.has(route)) return route;
    if (routes.size >= ROUTES_MAX) return 'other';
    routes.add(route);
    return route;
  };
  return (req, res, next) => {
    const startedAt = performance.now();
    const bytesBefore = req.socket.bytesWritten;
    // 'close' follows 'finish' and also comes when the client disconnects, so one listener sees both.
    res.on('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      const route = bounded(routeOf(req, res));
      if (res.statusCode !== 405) {
        metrics?.httpRequestSeconds.observe({ route, method: methodOf(req), status: res.statusCode }, seconds);
      }
      const line: Record<string, unknown> = {
        requestId: res.locals.requestId,
        traceId: res.locals.traceId,
        method: req.method,
        path: pathOf(req, res, route),
        route,
        status: res.statusCode,
        ms: Math.round(seconds * 1e5) / 100,
        bytes: bytesOf(req, res, bytesBefore),
        team: res.locals.team,
      };
      if (!res.writableFinished) line.aborted = true;
      endSpan(spanOf(res), methodOf(req), line);
      if (res.statusCode >= 500) log.warn('request', line);
      else log.info('request', line);
    });
    next();
  };
}

/** @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
function endSpan(span: OpenSpan | null, method: string, line: Readonly<Record<string, unknown>>): void {
  if (span === null) return;
  const { route, path, status, team, requestId, aborted } = line;
  span.rename(`${method} ${route}`);
  span.set({
    'http.request.method': method,
    'http.route': String(route),
    'url.path': String(path),
    'http.response.status_code': Number(status),
    'corral.request_id': String(requestId),
    ...(typeof team === 'string' ? { 'corral.team': team } : {}),
  });
  if (aborted === true) span.fail('aborted');
  else if (Number(status) >= 500) span.fail(String(status));
  span.end();
}

const uuids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

function pathOf(req: Request, res: Response, route: string): string {
  const shown: unknown = res.locals.path;
  if (typeof shown === 'string') return shown;
  const query = req.originalUrl.indexOf('?');
  const path = (query === -1 ? req.originalUrl : req.originalUrl.slice(0, query)).slice(0, PATH_MAX);
  return route === UNMATCHED ? path.replaceAll(uuids, '{id}') : path;
}

/** Bytes of the answer's body; for a streamed answer the bytes sent on the connection. */
function bytesOf(req: Request, res: Response, bytesBefore: number): number {
  const length = res.getHeader('content-length');
  return length === undefined ? req.socket.bytesWritten - bytesBefore : Number(length);
}

function routeOf(req: Request, res: Response): string {
  const named: unknown = res.locals.route;
  if (typeof named === 'string') return named;
  const route: { path: unknown } | undefined = req.route;
  if (route === undefined) return UNMATCHED;
  // Absent after Express has given the request up, as for a connection that was cut.
  const baseUrl: string | undefined = req.baseUrl;
  return baseUrl === undefined || baseUrl === '' ? String(route.path) : `${mountPattern(req)}${String(route.path)}`;
}

/** Express gives the mount path as the client wrote it, `/teams/acme`; this returns `/teams/:team`. */
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
