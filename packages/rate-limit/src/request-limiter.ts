import type { Request, RequestHandler, Response } from 'express';
import { type RateLimitInfo, rateLimit } from 'express-rate-limit';
import { BucketStore, storeKey, type Takings } from './bucket-store.js';
import type { Buckets } from './buckets.js';
import { addBudget, type ChargedBudget, setBudget } from './budget-headers.js';
import type { BucketRule, Taken } from './token-bucket.js';

export interface RequestLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  /** A function where it depends on the caller. */
  readonly perMinute: number | ((res: Response) => number);
  /** Whose bucket a request is charged to. Null: the limit does not concern it. */
  readonly keyOf: (req: Request, res: Response) => string | null;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

export interface RequestLimiter {
  /** Charges a request or refuses it. */
  readonly check: RequestHandler;
  /** Gives back a request's charges, as if the request had never been made. */
  giveBack(res: Response): void;
}

/** What a request was charged by one limit. */
export interface Charge {
  readonly limit: RequestLimit;
  readonly bucket: string;
  readonly rule: BucketRule;
  readonly taken: Taken;
  /** When the bucket is full again, in ms since 1970. */
  readonly fullAt: number;
}

const MINUTE_MS = 60_000;

/**
 * Request limits as token buckets: `n` per minute allows a burst of `n`, then `n / 60` per second. A fixed window would lock a
 * client out for up to a minute, and many clients give up sooner. A request is charged by each limit, up to the first that
 * refuses it.
 */
export function requestLimiter(buckets: Buckets, limits: readonly RequestLimit[]): RequestLimiter {
  const { check, takeBack } = bucketLimiter(buckets, limits);
  return {
    check,
    giveBack(res) {
      for (const { limit, rule, taken, fullAt } of takeBack(res)) {
        // Does not wait for Redis: the bucket's state can be predicted.
        const resetAt = fullAt - MINUTE_MS / rule.capacity;
        addBudget(res, limit.name, { limit: rule.capacity, remaining: taken.remaining + 1, resetAt, isFree: true });
      }
    },
  };
}

export interface BucketLimiter extends Pick<RequestLimiter, 'check'> {
  /** Without the limit that refused the request. */
  chargesOf(res: Response): readonly Charge[];
  /** Gives back a request's charges, and returns them. */
  takeBack(res: Response): readonly Charge[];
}

/**
 * All limits in one instance of express-rate-limit, whose chain of promises takes longer than the buckets.
 *
 * @param patienceMs how long a request would wait for its tokens; its charges say how long it must. Default: 0
 */
export function bucketLimiter(buckets: Buckets, limits: readonly RequestLimit[], patienceMs = 0): BucketLimiter {
  const names = limits.map(({ name }) => name);
  const property = `limit:${names.join('+')}`;
  // Two limiters may have the same limits.
  const charges = Symbol(property);
  type Charged = Record<typeof charges, readonly Charge[]>;
  const chargesOf = ({ locals }: Response): readonly Charge[] => (locals as Partial<Charged>)[charges] ?? [];
  const charge = (res: Response, taken: readonly Charge[]): void => {
    (res.locals as Charged)[charges] = taken;
  };
  const takenFor = (req: Request): Charge[] => {
    const { resetTime } = (req as Request & Record<string, RateLimitInfo>)[property] as RateLimitInfo;
    const { each } = resetTime as Takings;
    const now = (resetTime as Takings).getTime();
    return each.map(({ asked: { limit, bucket, rule }, taken }) => {
      return { limit: limits[limit] as RequestLimit, bucket, rule, taken, fullAt: now + taken.fullInMs };
    });
  };
  const keyOf = (req: Request, res: Response): string =>
    storeKey(
      limits.map(({ perMinute, keyOf }) => {
        const key = keyOf(req, res);
        return key === null ? null : { key, capacity: typeof perMinute === 'function' ? perMinute(res) : perMinute };
      }),
    );
  const store = new BucketStore(buckets, names, MINUTE_MS, patienceMs);
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit: 1,
    store,
    keyGenerator: keyOf,
    requestPropertyName: property,
    // The headers follow the DNS API's upstream, which the library does not support: see `addBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    handler(req, res, next) {
      const taken = takenFor(req);
      const refused = taken.pop() as Charge;
      charge(res, taken);
      next(refusalOf(res, refused));
    },
  });
  const check: RequestHandler = (req, res, next) =>
    middleware(req, res, (error?: unknown) => {
      if (error !== undefined) return next(error);
      const taken = takenFor(req);
      charge(res, taken);
      for (const each of taken) addBudget(res, each.limit.name, budgetOf(each));
      next();
    });
  return {
    check,
    chargesOf,
    takeBack(res) {
      const taken = chargesOf(res);
      charge(res, []);
      for (const { bucket, rule } of taken) {
        const given = buckets.giveBack(bucket, rule);
        if (given instanceof Promise) given.catch(() => undefined);
      }
      return taken;
    },
  };
}

/** Reports the limit that refuses a request, in headers and as the API's error. */
export function refusalOf(res: Response, charge: Charge): Error {
  setBudget(res, charge.limit.name, budgetOf(charge));
  return charge.limit.refuse(Math.max(1, Math.ceil(charge.taken.retryInMs / 1_000)));
}

const budgetOf = ({ rule, taken, fullAt }: Charge): ChargedBudget => ({
  limit: rule.capacity,
  remaining: taken.remaining,
  resetAt: fullAt,
});
