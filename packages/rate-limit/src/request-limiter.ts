import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import { budgetOf, tellBudget, tellOnly } from './budget-headers.js';
import type { BucketRule, Taken } from './token-bucket.js';

export interface RequestLimit {
  readonly perMinute: number;
  /** Key of the bucket for a request. Starts with a word that is unique to the limit within the installation. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

export interface RequestLimiter {
  /** Charges a request or refuses it. */
  readonly check: RequestHandler;
  /** Gives back a request's charge, as if the request had never been made. */
  giveBack(res: Response): void;
}

const MINUTE_MS = 60_000;

export const ruleOf = ({ perMinute }: RequestLimit): BucketRule => ({ capacity: perMinute, periodMs: MINUTE_MS });

/**
 * A request limit as a token bucket: `n` per minute allows a burst of `n`, then `n / 60` per second. A fixed window
 * would lock a client out for up to a minute, and many clients give up sooner.
 */
export function requestLimiter(buckets: Buckets, limit: RequestLimit): RequestLimiter {
  const rule = ruleOf(limit);
  const charged = new WeakMap<Response, { readonly key: string; readonly taken: Taken }>();
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit: limit.perMinute,
    store: bucketStore(buckets, rule),
    keyGenerator: limit.keyOf,
    // The headers follow the DNS API's upstream, which the library does not support: see `tellBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    requestPropertyName: INFO,
    validate: false,
    handler: (req, res) => {
      throw refusalOf(res, limit, infoOf(req));
    },
  });
  return {
    check: (req, res, next) =>
      middleware(req, res, (error?: unknown) => {
        if (error === undefined) {
          const info = infoOf(req);
          charged.set(res, info);
          tellBudget(res, info.key, budgetOf(limit.perMinute, info.taken));
        }
        next(error);
      }),
    giveBack(res) {
      const charge = charged.get(res);
      if (charge === undefined) return;
      charged.delete(res);
      const { key, taken } = charge;
      const left = buckets.giveBack(key, rule);
      // Does not wait for Redis: the answer can be predicted well enough.
      if (left instanceof Promise) left.catch(() => undefined);
      const known = left instanceof Promise ? { ...taken, remaining: taken.remaining + 1 } : left;
      tellBudget(res, key, { ...budgetOf(limit.perMinute, known), isFree: true });
    },
  };
}

/** Reports the limit that refuses a request, in headers and as the API's error. */
export function refusalOf(res: Response, limit: RequestLimit, { key, taken }: { key: string; taken: Taken }): Error {
  tellOnly(res, key, budgetOf(limit.perMinute, taken));
  return limit.refuse(Math.max(1, Math.ceil(taken.retryInMs / 1_000)));
}

const INFO = 'requestLimit';

/** Carries the bucket's state through `resetTime`, the only value that the library passes on unchanged. */
class BucketTime extends Date {
  constructor(readonly taken: Taken) {
    super(Date.now() + taken.fullInMs);
  }
}

function infoOf(req: Request): { key: string; taken: Taken } {
  const { key, resetTime } = (req as Request & { [INFO]: { key: string; resetTime: BucketTime } })[INFO];
  return { key, taken: resetTime.taken };
}

/** Adapts a bucket to express-rate-limit, which counts hits in a window: hits are the tokens used. */
function bucketStore(buckets: Buckets, rule: BucketRule): Store {
  return {
    localKeys: false,
    increment: async (key) => {
      const taken = await buckets.take(key, rule);
      const gone = Math.max(1, rule.capacity - taken.remaining);
      return { totalHits: taken.allowed ? gone : rule.capacity + 1, resetTime: new BucketTime(taken) };
    },
    decrement: () => undefined,
    resetKey: () => undefined,
  };
}
