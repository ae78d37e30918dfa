import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import type { BucketRule, Taken } from './token-bucket.js';
import { budgetOf, tellBudget, tellOnly } from './told-budgets.js';

export interface RequestLimit {
  readonly perMinute: number;
  /** Names whose bucket a request is taken from; begins with a word of its own for each limit of an installation. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Makes the API's own error of a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

export interface RequestLimiter {
  /** Counts a request, or refuses it. */
  readonly check: RequestHandler;
  /** Gives back what a request was charged: as far as this limit goes, it was never sent. */
  giveBack(res: Response): void;
}

const MINUTE_MS = 60_000;

export const ruleOf = ({ perMinute }: RequestLimit): BucketRule => ({ capacity: perMinute, periodMs: MINUTE_MS });

/**
 * A request limit as a token bucket: `n` per minute means a burst of `n` and `n / 60` per second after it. A fixed
 * window would lock a client out for up to a minute, and many clients give up sooner.
 */
export function requestLimiter(buckets: Buckets, limit: RequestLimit): RequestLimiter {
  const rule = ruleOf(limit);
  const charged = new WeakMap<Response, { readonly key: string; readonly taken: Taken }>();
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit: limit.perMinute,
    store: bucketStore(buckets, rule),
    keyGenerator: limit.keyOf,
    // The headers have the meaning of the DNS API's upstream, which is none of this library's: see `tellBudget`.
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
      // Nobody waits for Redis here: what it will say is known well enough.
      if (left instanceof Promise) left.catch(() => undefined);
      const known = left instanceof Promise ? { ...taken, remaining: taken.remaining + 1 } : left;
      tellBudget(res, key, { ...budgetOf(limit.perMinute, known), isFree: true });
    },
  };
}

/** Tells of the limit that refuses a request, in headers and as the API's own error. */
export function refusalOf(res: Response, limit: RequestLimit, { key, taken }: { key: string; taken: Taken }): Error {
  tellOnly(res, key, budgetOf(limit.perMinute, taken));
  return limit.refuse(Math.max(1, Math.ceil(taken.retryInMs / 1_000)));
}

const INFO = 'requestLimit';

/** What a bucket said, in the place of the only thing that the library passes on as it is. */
class BucketTime extends Date {
  constructor(readonly taken: Taken) {
    super(Date.now() + taken.fullInMs);
  }
}

function infoOf(req: Request): { key: string; taken: Taken } {
  const { key, resetTime } = (req as Request & { [INFO]: { key: string; resetTime: BucketTime } })[INFO];
  return { key, taken: resetTime.taken };
}

/** express-rate-limit counts hits in a window; a bucket says the same in those words: hits are tokens that are gone. */
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
