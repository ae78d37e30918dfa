import express, { type Express } from 'express';
import { canonicalUrl } from './canonical-url.js';
import type { TrustProxy } from './config-variables.js';
import type { FlightBound } from './flight-bound.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import { oneHost } from './one-host.js';
import { requestId, requestLog } from './request-log.js';
import { securityHeaders } from './security-headers.js';

export interface ServiceAppOptions {
  /** Whose `X-Forwarded-*` headers are believed. */
  readonly trustProxy: TrustProxy;
  readonly log: Log;
  readonly metrics: Metrics;
  /** What is refused by it is neither logged nor timed: a line would be more work than the refusal. */
  readonly flights: Pick<FlightBound, 'check'>;
  /** Makes the API's own error, with status 400, of a request that can be read in two ways. */
  readonly refuse: (sentence: string) => Error;
}

/**
 * An Express app with what every API of ours wants before its first route: requests are numbered, taken on within bounds,
 * logged, counted, and have one host and one spelling of their address; answers guard whoever looks at them; Express adds no
 * header of its own and reads no query.
 */
export function serviceApp({ trustProxy, log, metrics, flights, refuse }: ServiceAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', trustProxy);
  app.use(requestId());
  app.use(securityHeaders());
  app.use(flights.check);
  app.use(requestLog(log, metrics));
  app.use(oneHost(() => refuse('The request has more than one Host header. Send one.')));
  app.use(canonicalUrl());
  return app;
}
