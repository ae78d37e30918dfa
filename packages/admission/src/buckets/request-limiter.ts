import type { Request, RequestHandler, Response } from 'express';
import { type RateLimitInfo, rateLimit } from 'express-rate-limit';
import { BucketStore } from './bucket-store.js';
import type { Buckets } from './buckets.js';
import { addBudget, setBudget } from './budget-headers.js';
import { MINUTE_MS, secondsOf } from './minute.js';

export interface RequestLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  readonly perMinute: number;
  /** Whose bucket a request is charged to. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Whether the limit does not concern a request. Default: it concerns all. */
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

/**
 * A limit of requests that refuses, as an express-rate-limit over token buckets: `n` per minute allows a burst of `n`, then `n / 60` per
 * second. A fixed window would lock a client out for up to a minute, and many clients give up sooner.
 */
export function requestLimiter(buckets: Buckets, limit: RequestLimit): RequestLimiter {
  const { name, perMinute, keyOf, refuse } = limit;
  const property = `limit:${name}`;
  const store = new BucketStore(buckets, name, { capacity: perMinute, periodMs: MINUTE_MS });
  const msPerToken = MINUTE_MS / perMinute;
  const limiter = rateLimit({
    windowMs: MINUTE_MS,
    limit: perMinute,
    store,
    keyGenerator: keyOf,
    skip: limit.skip ?? (() => false),
    requestPropertyName: property,
    // The headers follow the DNS API's upstream, which the library does not support: see `addBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    handler(req, res, next) {
      const { resetTime } = infoOf(req, property) as Info;
      const availableAt = resetTime.getTime();
      setBudget(res, name, { limit: perMinute, remaining: 0, resetAt: availableAt + (perMinute - 1) * msPerToken });
      next(refuse(secondsOf(availableAt - Date.now())));
    },
  });
  return {
    check: (req, res, next) =>
      limiter(req, res, (error?: unknown) => {
        const info = infoOf(req, property);
        if (error === undefined && info !== undefined) {
          addBudget(res, name, { limit: perMinute, remaining: info.remaining, resetAt: info.resetTime.getTime() });
        }
        next(error);
      }),
    giveBack(res) {
      const info = infoOf(res.req, property);
      if (info === undefined || info.used > perMinute) return;
      forget(res.req, property);
      store.decrement(info.key).catch(() => undefined);
      // Does not wait for Redis: the bucket's state can be predicted.
      const resetAt = info.resetTime.getTime() - msPerToken;
      addBudget(res, name, { limit: perMinute, remaining: info.remaining + 1, resetAt, isFree: true });
    },
  };
}

/** What the library tells of a request. Our store states the time. */
type Info = RateLimitInfo & { readonly resetTime: Date };
type Counted = Request & { [property: string]: Info | undefined };

/** Undefined for a request that was not charged. */
const infoOf = (req: Request, property: string): Info | undefined => (req as Counted)[property];

const forget = (req: Request, property: string): void => {
  (req as Counted)[property] = undefined;
};
