import type { Request, Response } from 'express';
import type { Buckets } from './buckets.js';
import { addBudget, type ChargedBudget, setBudget } from './budget-headers.js';
import { MINUTE_MS, secondsOf } from './minute.js';
import type { RequestLimiter } from './request-limiter.js';
import type { BucketRule, Taken } from './token-bucket.js';

/** A limit whose number may depend on the caller. */
export interface CallerLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  readonly perMinute: (res: Response) => number;
  /** Whose bucket a request is charged to. Null: the limit does not concern it. */
  readonly keyOf: (req: Request, res: Response) => string | null;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

/** What a request was charged by one limit. */
export interface Charge {
  readonly limit: CallerLimit;
  readonly bucket: string;
  readonly rule: BucketRule;
  readonly taken: Taken;
  /** When the bucket is full again, in ms since 1970. */
  readonly fullAt: number;
}

/** Limits of a caller. A request is charged by each, up to the first that refuses it. */
export function callerLimiter(buckets: Buckets, limits: readonly CallerLimit[]): RequestLimiter {
  const charges = chargeSheet(buckets, limits);
  return {
    async check(req, res, next) {
      const refused = await charges.charge(req, res);
      next(refused === null ? undefined : refusalOf(res, refused));
    },
    giveBack(res) {
      for (const { limit, rule, taken, fullAt } of charges.takeBack(res)) {
        const resetAt = fullAt - MINUTE_MS / rule.capacity;
        addBudget(res, limit.name, { limit: rule.capacity, remaining: taken.remaining + 1, resetAt, isFree: true });
      }
    },
  };
}

export interface ChargeSheet {
  /** Takes a token of each limit, and reports what is left. @returns the first that has none */
  charge(req: Request, res: Response): Promise<Charge | null>;
  /** What a request was charged, without the limit that refused it. */
  chargesOf(res: Response): readonly Charge[];
  /** Gives back a request's charges, and returns them. */
  takeBack(res: Response): readonly Charge[];
}

/** @param patienceMs how long a request would wait for its tokens; its charges say how long it must. Default: 0 */
export function chargeSheet(buckets: Buckets, limits: readonly CallerLimit[], patienceMs = 0): ChargeSheet {
  const sheet = new WeakMap<Response, readonly Charge[]>();
  const chargesOf = (res: Response) => sheet.get(res) ?? [];
  return {
    chargesOf,
    async charge(req, res) {
      const charged: Charge[] = [];
      sheet.set(res, charged);
      for (const limit of limits) {
        const key = limit.keyOf(req, res);
        if (key === null) continue;
        const rule = { capacity: limit.perMinute(res), periodMs: MINUTE_MS };
        const bucket = `${limit.name}:${key}`;
        const taken = await buckets.take(bucket, rule, patienceMs);
        const charge = { limit, bucket, rule, taken, fullAt: Date.now() + taken.fullInMs };
        if (!taken.allowed) return charge;
        charged.push(charge);
      }
      for (const each of charged) addBudget(res, each.limit.name, budgetOf(each));
      return null;
    },
    takeBack(res) {
      const charged = chargesOf(res);
      sheet.delete(res);
      // Does not wait for Redis: the buckets' states can be predicted.
      for (const { bucket, rule } of charged) Promise.resolve(buckets.giveBack(bucket, rule)).catch(() => undefined);
      return charged;
    },
  };
}

/** Reports the limit that refuses a request, in headers and as the API's error. */
export function refusalOf(res: Response, charge: Charge): Error {
  setBudget(res, charge.limit.name, budgetOf(charge));
  return charge.limit.refuse(secondsOf(charge.taken.retryInMs));
}

const budgetOf = ({ rule, taken, fullAt }: Charge): ChargedBudget => ({
  limit: rule.capacity,
  remaining: taken.remaining,
  resetAt: fullAt,
});
