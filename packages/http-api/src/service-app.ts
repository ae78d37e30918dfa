import type { Log, Metrics, TrustProxy } from '@corral/service';
import cors from 'cors';
import express, { type Express, type Request, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { RequestAdmission } from './admit-requests.js';
import { RequestFault } from './errors.js';
import { requestId, requestLog } from './request-log.js';

/**
 * Normalizes the path before routing. Repeated slashes count as one, because some clients join paths to an endpoint that ends
 * in a slash. A percent sign that does not start a valid UTF-8 escape becomes a literal one, so that it fails as an invalid
 * name instead of as an invalid request. The router decodes each segment once, later. The origin of a target in absolute form
 * (RFC 9112 section 3.2.2) stays: Express removes it.
 */
export function canonicalUrl(): RequestHandler {
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

export interface ServiceAppOptions {
  /** Proxies whose `X-Forwarded-*` headers are trusted. */
  readonly trustProxy: TrustProxy;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Its refusals are neither logged nor timed: a log line would cost more than the refusal. */
  readonly admission: Pick<RequestAdmission, 'check'>;
  /** Which origins may read answers. Preflight requests that it answers count against no limit. Default: none. */
  readonly crossOrigin?: RequestHandler;
}

/**
 * An Express app with everything that an API needs before its first route: request ids, limits of work in flight, logs,
 * metrics, one host and a canonical URL, and security headers. Express adds no headers and parses no query.
 */
export function serviceApp({ trustProxy, log, metrics, admission, crossOrigin }: ServiceAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', trustProxy);
  app.use(securityHeaders(), requestId());
  if (crossOrigin !== undefined) app.use(crossOrigin);
  app.use(admission.check, requestLog(log, metrics), checkHead, canonicalUrl());
  return app;
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
