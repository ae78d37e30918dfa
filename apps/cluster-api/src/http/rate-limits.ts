import { sessionOf } from '@corral/auth';
import { addressLimiter, addressOf, type Buckets, requestLimiter } from '@corral/rate-limit';
import type { RequestHandler } from 'express';
import { Problem } from '../problem.js';

export interface RateLimits {
  readonly perAddressPerMinute: number;
  readonly perSessionPerMinute: number;
  readonly signInRequestsPerAddressPerMinute: number;
}

/** The request limits, in the order in which they apply. */
export function requestLimits(buckets: Buckets, limits: RateLimits) {
  const perAddress = addressLimiter(buckets, {
    prefix: 'cluster-api/',
    perMinute: limits.perAddressPerMinute,
    refuse: (seconds, whose) =>
      refusal(`Too many requests from this ${whose}. Try again after the time in Retry-After.`)(seconds),
  });
  const perSession = requestLimiter(buckets, {
    perMinute: limits.perSessionPerMinute,
    keyOf: (_req, res) => `cluster-api/session:${sessionOf(res)?.id}`,
    refuse: refusal('Too many requests from this session. Try again after the time in Retry-After.'),
  });
  const signInPerAddress = requestLimiter(buckets, {
    perMinute: limits.signInRequestsPerAddressPerMinute,
    keyOf: (req) => `cluster-api/sign-in:${addressOf(req)}`,
    refuse: refusal('Too many sign-ins from this address. Try again after the time in Retry-After.'),
  });
  return {
    /** Runs before the session is looked up. Counts the requests without a session. */
    perAddress: perAddress.check,
    /** In addition to the first, because each of these requests may call the identity provider. */
    signInPerAddress: signInPerAddress.check,
    /** Runs once the session is looked up. A request with a session counts against the session only. */
    forgiveAddress: ((_req, res, next) => {
      if (sessionOf(res) !== null) perAddress.giveBack(res);
      next();
    }) satisfies RequestHandler,
    perSession: ((req, res, next) =>
      sessionOf(res) === null ? next() : perSession.check(req, res, next)) satisfies RequestHandler,
  };
}

const refusal = (sentence: string) => (retryAfterSeconds: number) =>
  new Problem('rate_limit_exceeded', sentence, { retryAfterSeconds });
