import { peerOf } from '@corral/service';
import type { Request, RequestHandler, Response } from 'express';
import { type RateLimitInfo, rateLimit, type Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import type { BucketRule } from './token-bucket.js';

export interface RequestLimit {
  readonly buckets: Buckets;
  readonly perMinute: number;
  /** Names whose bucket a request is taken from; begins with a word of its own for each limit of an installation. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Makes the API's own error of a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

const MINUTE_MS = 60_000;
/** The address of a client, as far as one client can be told from another by it. */
export const addressOf = (req: Request): string => peerOf(req.ip ?? '');

/**
 * A request limit as a token bucket: `n` per minute means a burst of `n` and `n / 60` per second after it. A fixed
 * window would lock a client out for up to a minute, and many clients give up sooner. Answers tell the budget in
 * `RateLimit-Limit`, `-Remaining` and `-Reset`.
 */
export function requestLimiter({ buckets, perMinute, keyOf, refuse }: RequestLimit): RequestHandler {
  const rule = { capacity: perMinute, periodMs: MINUTE_MS };
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit: perMinute,
    store: bucketStore(buckets, rule),
    keyGenerator: keyOf,
    // The headers have the meaning of the DNS API's upstream, which is none of this library's: see `stateBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    requestPropertyName: INFO,
    validate: false,
    handler: (req, res) => {
      const info = infoOf(req);
      stateBudget(res, info);
      throw refuse(Math.max(1, Math.ceil((emptyForMs(info, rule) ?? 1_000) / 1_000)));
    },
  });
  return (req, res, next) =>
    middleware(req, res, (error?: unknown) => {
      if (error === undefined) stateBudget(res, infoOf(req));
      next(error);
    });
}

const INFO = 'requestLimit';

function infoOf(req: Request): RateLimitInfo {
  return (req as Request & { [INFO]: RateLimitInfo })[INFO];
}

/** express-rate-limit counts hits in a window; a bucket says the same in those words: hits are tokens that are gone. */
function bucketStore(buckets: Buckets, rule: BucketRule): Store {
  return {
    localKeys: false,
    increment: async (key) => {
      const taken = await buckets.take(key, rule);
      return {
        totalHits: taken.allowed ? rule.capacity - taken.remaining : rule.capacity + 1,
        resetTime: new Date(Date.now() + taken.fullInMs),
      };
    },
    decrement: () => undefined,
    resetKey: () => undefined,
  };
}

/** Of a bucket only the time of fullness is told; a bucket fills evenly, so its first token comes that much sooner. */
function emptyForMs({ resetTime }: RateLimitInfo, { capacity, periodMs }: BucketRule): number | null {
  if (resetTime === undefined) return null;
  return resetTime.getTime() - Date.now() - ((capacity - 1) * periodMs) / capacity;
}

/**
 * Tells the caller's own budget: the size of the bucket, what is left, and the Unix time at which it is full again. Of
 * two limits the one that is nearer to its end is told.
 */
function stateBudget(res: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  const told = res.getHeader('RateLimit-Remaining');
  if (told !== undefined && Number(told) <= remaining) return;
  res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  if (resetTime !== undefined) res.setHeader('RateLimit-Reset', Math.ceil(resetTime.getTime() / 1_000));
}
