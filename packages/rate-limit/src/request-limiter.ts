import type { Request, RequestHandler, Response } from 'express';
import { type RateLimitInfo, rateLimit } from 'express-rate-limit';
import { BucketStore, type BucketTime, storeKey } from './bucket-store.js';
import type { Buckets } from './buckets.js';
import { addBudget, type Budget, setBudget } from './budget-headers.js';

export interface RequestLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  /** A function where it depends on the caller. */
  readonly perMinute: number | ((res: Response) => number);
  /** Whose bucket a request is charged to. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Requests that the limit does not concern. Default: none. */
  readonly skip?: (req: Request, res: Response) => boolean;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

export interface RequestLimiter {
  /** Charges a request or refuses it. */
  readonly check: RequestHandler;
  /** Gives back a request's charge, as if the request had never been made. */
  giveBack(res: Response): void;
}

/** What a request was charged, in the library's terms. */
export interface Charge extends RateLimitInfo {
  readonly resetTime: BucketTime;
}

const MINUTE_MS = 60_000;

/**
 * A request limit as a token bucket: `n` per minute allows a burst of `n`, then `n / 60` per second. A fixed window
 * would lock a client out for up to a minute, and many clients give up sooner.
 */
export function requestLimiter(buckets: Buckets, limit: RequestLimit): RequestLimiter {
  const { check, takeBack } = bucketLimiter(buckets, limit);
  return {
    check,
    giveBack(res) {
      const charge = takeBack(res);
      if (charge === null) return;
      // Does not wait for Redis: the bucket's state can be predicted.
      const resetAt = new Date(charge.resetTime.getTime() - MINUTE_MS / charge.limit);
      addBudget(res, limit.name, { limit: charge.limit, remaining: charge.remaining + 1, resetAt, isFree: true });
    },
  };
}

export interface BucketLimiter {
  readonly check: RequestHandler;
  chargeOf(res: Response): Charge | null;
  /** Gives back a request's charge. @returns null when it has none */
  takeBack(res: Response): Charge | null;
}

/** @param patienceMs how long a request would wait for its token; its charge says how long it must. Default: 0 */
export function bucketLimiter(buckets: Buckets, limit: RequestLimit, patienceMs = 0): BucketLimiter {
  const { perMinute } = limit;
  const perMinuteOf = typeof perMinute === 'function' ? perMinute : () => perMinute;
  const store = new BucketStore(buckets, MINUTE_MS, `${limit.name}:`, patienceMs);
  const charges = new WeakMap<Response, Charge>();
  const property = `limit:${limit.name}`;
  const chargeOf = (req: Request): Charge | undefined =>
    (req as Request & Record<string, Charge | undefined>)[property];
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit: (_req, res) => perMinuteOf(res),
    store,
    keyGenerator: (req, res) => storeKey(perMinuteOf(res), limit.keyOf(req, res)),
    skip: limit.skip ?? (() => false),
    requestPropertyName: property,
    // The headers follow the DNS API's upstream, which the library does not support: see `addBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    handler: (req, res, next) => next(refusalOf(res, limit, chargeOf(req) as Charge)),
  });
  const check: RequestHandler = (req, res, next) =>
    middleware(req, res, (error?: unknown) => {
      const charge = chargeOf(req);
      if (error === undefined && charge !== undefined) {
        charges.set(res, charge);
        addBudget(res, limit.name, budgetOf(charge));
      }
      next(error);
    });
  return {
    check,
    chargeOf: (res) => charges.get(res) ?? null,
    takeBack(res) {
      const charge = charges.get(res);
      if (charge === undefined) return null;
      charges.delete(res);
      store.decrement(charge.key).catch(() => undefined);
      return charge;
    },
  };
}

/** Reports the limit that refuses a request, in headers and as the API's error. */
export function refusalOf(res: Response, { name, refuse }: RequestLimit, charge: Charge): Error {
  setBudget(res, name, budgetOf(charge));
  return refuse(Math.max(1, Math.ceil(charge.resetTime.retryInMs / 1_000)));
}

const budgetOf = ({ limit, remaining, resetTime }: Charge): Budget => ({ limit, remaining, resetAt: resetTime });

/** Runs middlewares one after the other, up to the first error. */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  return handlers.reduceRight<RequestHandler>(
    (rest, handler) => (req, res, next) =>
      handler(req, res, (error?: unknown) => {
        if (error === undefined) rest(req, res, next);
        else next(error);
      }),
    (_req, _res, next) => next(),
  );
}
