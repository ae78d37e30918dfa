import { randomUUID } from 'node:crypto';
import { type Log, type Metrics, type OpenSpan, openSpan, parseTraceparent, type TrustProxy } from '@corral/service';
import cors from 'cors';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { RequestFault } from './errors.js';

export interface ServiceAppOptions {
  /** Proxies whose `X-Forwarded-*` headers are trusted. */
  readonly trustProxy: TrustProxy;
  readonly log: Log;
  readonly metrics: Metrics;
  /** `RequestAdmission.check`. Its refusals are neither logged nor timed: a log line would cost more than the refusal. */
  readonly admit: RequestHandler;
  /** Says which origins may read answers. Preflight requests that it answers count against no limit. Default: none. */
  readonly crossOrigin?: RequestHandler;
}

/**
 * An Express app with everything that an API needs before its first route: request ids, limits of work in flight, logs,
 * metrics, one host and a canonical URL, and security headers. Express adds no headers and parses no query.
 */
export function serviceApp({ trustProxy, log, metrics, admit, crossOrigin }: ServiceAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', trustProxy);
  app.use(securityHeaders(), requestId());
  if (crossOrigin !== undefined) app.use(crossOrigin);
  app.use(admit, requestLog(log, metrics), checkHead, canonicalUrl());
  return app;
}

/** Asked every few seconds by machines. */
const untracedPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * Gives every request a new id, in `res.locals.requestId` and `X-Correlation-Id`. Ids of clients are not used: a client
 * could imitate another request in our logs. If a trace begins with the request, its id is that of the trace.
 *
 * `res.locals.traceId` is the id of the trace that the request is a part of: that of the client, if it sent a valid
 * `traceparent`, which several requests may share. `res.locals.span` is its open span, while the service makes traces.
 */
function requestId(): RequestHandler {
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
export const spanOf = ({ locals }: Response): OpenSpan | null => (locals.span as OpenSpan | null | undefined) ?? null;

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

const PATH_MAX = 512;
const USER_AGENT_MAX = 200;
const UNMATCHED = 'unmatched';

/**
 * Writes one log line and one observation at the end of each request. The query is never logged, because it may contain secrets. The
 * line says who sent it and what came of it, as far as the API knows: `team`, `tokenId`, `record` and `code` in `res.locals`.
 *
 * The path is `res.locals.path` if a router set it, for paths that are private. A request without a route may have been meant
 * for one of those, so ids are removed from its path.
 *
 * The route label is `res.locals.route` if a router set it, else the pattern that Express matched; requests without a route are
 * `unmatched`. So that clients cannot grow the metrics, unknown methods are `_OTHER`, and answers 405 are not observed.
 */
function requestLog(log: Log, metrics: Metrics): RequestHandler {
  return (req, res, next) => {
    const startedAt = performance.now();
    const bytesBefore = req.socket.bytesWritten;
    // 'close' follows 'finish' and also comes when the client disconnects, so one listener sees both.
    res.on('close', () => {
      const seconds = (performance.now() - startedAt) / 1000;
      const route = routeOf(req, res);
      if (res.statusCode !== 405) {
        metrics.httpRequestSeconds.observe({ route, method: methodOf(req), status: res.statusCode }, seconds);
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
        code: res.locals.code,
        record: res.locals.record,
        tokenId: res.locals.tokenId,
        client: req.ip,
        userAgent: req.headers['user-agent']?.slice(0, USER_AGENT_MAX),
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
  return route === undefined ? UNMATCHED : String(route.path);
}

/**
 * Normalizes the path before routing. Repeated slashes count as one, because some clients join paths to an endpoint that ends
 * in a slash. A percent sign that does not start a valid UTF-8 escape becomes a literal one, so that it fails as an invalid
 * name instead of as an invalid request. The router decodes each segment once, later. The origin of a target in absolute form
 * (RFC 9112 section 3.2.2) stays: Express removes it.
 */
function canonicalUrl(): RequestHandler {
  return (req, _res, next) => {
    const queryAt = req.url.indexOf('?');
    const path = queryAt === -1 ? req.url : req.url.slice(0, queryAt);
    const canonical = canonicalPath(path);
    if (canonical !== path) req.url = queryAt === -1 ? canonical : canonical + req.url.slice(queryAt);
    next();
  };
}

export function canonicalPath(path: string): string {
  const origin = path.startsWith('/') ? '' : (/^https?:\/\/[^/]*/i.exec(path)?.[0] ?? '');
  const rest = path.slice(origin.length);
  const single = rest.includes('//') ? rest.replace(/\/{2,}/g, '/') : rest;
  return origin + (single.includes('%') ? single.split('/').map(decodableSegment).join('/') : single);
}

function decodableSegment(segment: string): string {
  try {
    decodeURIComponent(segment);
    return segment;
  } catch {
    return segment.replaceAll('%', '%25');
  }
}

/** A registered name, an address in brackets or not, and a port (RFC 9110 section 7.2); empty for a target without an authority. */
const validHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/;

/**
 * Refuses a request that a proxy in front may have read differently (RFC 9112 sections 3.2 and 6.3): with more than one `Host`,
 * of which Node.js takes the first, with none or an invalid one, or with a body in an encoding whose end is unknown. And one that expects
 * what it will not get (RFC 9110 section 10.1.1).
 */
const checkHead: RequestHandler = (req, res, next) => {
  const wrong = wrongInHead(req);
  if (wrong === null) return next();
  res.setHeader('Connection', 'close');
  next(new RequestFault('invalid_http', wrong));
};

function wrongInHead({ rawHeaders, headers, httpVersion }: Request): string | null {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  const { host = '', expect = '100-continue', 'transfer-encoding': encoding = 'chunked' } = headers;
  if (hosts > 1) return 'The request has more than one Host header. Send one.';
  if (hosts === 0 && httpVersion === '1.1') return 'The request has no Host header. Send one.';
  if (!validHost.test(host)) return 'The Host header is not valid.';
  if (expect.toLowerCase() !== '100-continue') return 'The only supported Expect is 100-continue.';
  if (encoding.toLowerCase() !== 'chunked') return 'The only supported Transfer-Encoding is chunked.';
  return null;
}

/** Browsers use these services, some with a session: pages run only their own scripts and cannot be framed. */
const securityHeaders = (): RequestHandler =>
  helmet({
    contentSecurityPolicy: {
      directives: {
        frameAncestors: ["'none'"],
        // Development uses plain HTTP; with HTTPS, HSTS has the same effect.
        upgradeInsecureRequests: null,
      },
    },
  });

export interface CrossOriginOptions {
  /** Origins whose scripts may read answers, such as `https://cloud.example.org`. */
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  /** Headers that their requests may have. */
  readonly requestHeaders: readonly string[];
  /** Headers of answers that they may read. */
  readonly answerHeaders: readonly string[];
}

/** The longest time for which browsers cache the answer to a preflight request. */
const PREFLIGHT_SECONDS = 7_200;

/**
 * Allows scripts of these origins to call the API (https://fetch.spec.whatwg.org/#http-cors-protocol). Cookies are never allowed:
 * the scripts send a token. For all other origins the API answers as if this did not exist.
 */
export function allowOrigins({ origins, methods, requestHeaders, answerHeaders }: CrossOriginOptions): RequestHandler {
  const allowed = new Set(origins);
  const allow = cors({
    origin: [...allowed],
    methods: [...methods],
    allowedHeaders: [...requestHeaders],
    exposedHeaders: [...answerHeaders],
    maxAge: PREFLIGHT_SECONDS,
  });
  return (req, res, next) => {
    if (allowed.has(req.headers.origin ?? '')) return allow(req, res, next);
    // A cache must not give the answer without permission to an origin that has it.
    if (allowed.size > 0) res.vary('Origin');
    next();
  };
}
