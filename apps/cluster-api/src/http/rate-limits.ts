import { accountOf, sessionOf } from '@corral/auth';
import { addressLimiter, addressOf, type Buckets, requestLimiter } from '@corral/rate-limit';
import type { RequestHandler, Response } from 'express';
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
  const perSession = requestLimiter(buckets, [
    {
      name: 'cluster-api/session',
      perMinute: (res) => accountOf(res)?.requestsMax ?? limits.perSessionPerMinute,
      // All tokens of an account share its limit.
      keyOf: (_req, res) => accountOf(res)?.id ?? sessionOf(res)?.id ?? null,
      refuse: refusal(
        'Too many requests from this session or service account. Try again after the time in Retry-After.',
      ),
    },
  ]);
  const ofSignIns = (name: string, what: string) =>
    requestLimiter(buckets, [
      {
        name: `cluster-api/${name}`,
        perMinute: limits.signInRequestsPerAddressPerMinute,
        keyOf: addressOf,
        refuse: refusal(`Too many ${what} from this address. Try again after the time in Retry-After.`),
      },
    ]);
  return {
    /** Runs before the session is looked up. Counts the requests without a session. */
    perAddress: perAddress.check,
    /** In addition to the first, because each of these requests may call the identity provider. */
    signInPerAddress: ofSignIns('sign-in', 'sign-ins').check,
    /** Counted apart, so that a pipeline does not keep the people of its network from signing in. */
    tokensPerAddress: ofSignIns('token', 'token requests').check,
    /** Runs once the caller is looked up. A request with a session or a token counts against that only. */
    forgiveAddress: ((_req, res, next) => {
      if (isKnown(res)) perAddress.giveBack(res);
      next();
    }) satisfies RequestHandler,
    /** Of requests that have a session or the token of a service account. */
    perSession: perSession.check,
  };
}

const isKnown = (res: Response): boolean => sessionOf(res) !== null || accountOf(res) !== null;

const refusal = (sentence: string) => (retryAfterSeconds: number) =>
  new Problem('rate_limit_exceeded', sentence, { retryAfterSeconds });
