import cors from 'cors';
import type { RequestHandler } from 'express';

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
