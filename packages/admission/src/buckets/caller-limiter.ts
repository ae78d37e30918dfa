import type { Request, RequestHandler, Response } from 'express';
import { type Clock, NotAdmitted, passTime, type RequestScope, waiting } from '../request-scope.js';
import { type Buckets, msPerToken, perMinute, type RuledBucket, secondsOf, type Taken } from './buckets.js';

/** The reportable state of one limit. */
export interface Budget {
  /** Null for a limit that is not known. */
  readonly limit: number | null;
  readonly remaining: number;
  /** The time when the bucket is full again, in ms since 1970. */
  readonly resetAt: number;
  /** The caller's requests are not charged here; the limit matters only once others have used it up. */
  readonly isFree?: boolean;
}

/** The budget of a limit which was charged for a request. */
export type ChargedBudget = Budget & { readonly limit: number };

const reportedOn = ({ locals }: Response): ReadonlyMap<string, Budget> => locals.budgets ?? new Map();

/**
 * Reports a limit in `RateLimit-Limit`, `-Remaining` and `-Reset`. With several limits the one that bites next is reported: the one with
 * the least left, and among equals the one that is full last. Without effect once the head of the answer was sent.
 */
export function addBudget(res: Response, name: string, budget: Budget): void {
  report(res, new Map([...reportedOn(res), [name, budget]]));
}

/** The state of a limit as reported last. Null for a limit that was not. */
export const reportedBudget = (res: Response, name: string): Budget | null => reportedOn(res).get(name) ?? null;

/** Reports only the limit that refused the request. */
export function setBudget(res: Response, name: string, budget: Budget): void {
  report(res, new Map([[name, budget]]));
}

/** Reports no limit any more: what was reported does not concern the request. */
export function clearBudgets(res: Response): void {
  res.locals.budgets = new Map();
  if (res.headersSent) return;
  for (const name of ['Limit', 'Remaining', 'Reset']) res.removeHeader(`RateLimit-${name}`);
}

const bites = ({ isFree, remaining }: Budget): boolean => !isFree || remaining < 1;

/** Whether the one bites before the other. */
function isBefore(one: Budget, other: Budget): boolean {
  if (bites(one) !== bites(other)) return bites(one);
  return one.remaining === other.remaining ? one.resetAt > other.resetAt : one.remaining < other.remaining;
}

function report(res: Response, budgets: ReadonlyMap<string, Budget>): void {
  res.locals.budgets = budgets;
  const [first, ...others] = budgets.values();
  if (first === undefined || res.headersSent) return;
  const { limit, remaining, resetAt } = others.reduce((next, each) => (isBefore(each, next) ? each : next), first);
  if (limit === null) res.removeHeader('RateLimit-Limit');
  else res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  res.setHeader('RateLimit-Reset', Math.ceil(resetAt / 1_000));
}

export interface RequestLimiter {
  /** Charges a request or refuses it. */
  readonly check: RequestHandler;
  /** Gives back a request's charge, as if the request had never been made. Does not wait for Redis: the state can be predicted. */
  giveBack(res: Response): void;
}

/** A limit whose number may depend on the caller. */
export interface CallerLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  readonly perMinute: (res: Response) => number;
  /** Names the bucket that a request is charged to. Null: the limit does not concern it. */
  readonly keyOf: (req: Request, res: Response) => string | null;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

/** Lets requests wait for their tokens instead of refusing them. */
export interface Patience {
  /** Longest wait for a token. */
  readonly waitMs: number;
  readonly scopeOf: (res: Response) => RequestScope;
  readonly clock: Clock;
}

/** What a request was charged by one limit. */
interface Charge extends RuledBucket {
  readonly limit: CallerLimit;
  readonly taken: Taken;
  /** The time when the bucket is full again, in ms since 1970. */
  readonly fullAt: number;
}

/**
 * Limits of a caller. A request is charged by all of them or, when one refuses it, by none. With patience a missing token is taken in
 * advance, and the request goes on when it has flowed in. Its body is not read until then. As the tokens come in the order of the
 * requests, so do the requests, in all processes together.
 */
export function callerLimiter(buckets: Buckets, limits: readonly CallerLimit[], patience?: Patience): RequestLimiter {
  const charged = new WeakMap<Response, readonly Charge[]>();

  const charge = async (req: Request, res: Response): Promise<readonly Charge[]> => {
    const asked = limits.flatMap((limit) => {
      const key = limit.keyOf(req, res);
      return key === null ? [] : [{ limit, key: `${limit.name}:${key}`, rule: perMinute(limit.perMinute(res)) }];
    });
    const answers = await buckets.take(asked, patience?.waitMs);
    return asked.map((each, at) => {
      const taken = answers[at] as Taken;
      return { ...each, taken, fullAt: Date.now() + taken.fullInMs };
    });
  };

  /** @returns what the request was charged */
  const takeBack = (res: Response): readonly Charge[] => {
    const charges = charged.get(res) ?? [];
    charged.delete(res);
    // Does not wait for Redis: the buckets' states can be predicted.
    if (charges.length > 0) void buckets.giveBack(charges);
    return charges;
  };

  return {
    async check(req, res, next) {
      const charges = await charge(req, res);
      // After the longest of their times all of them allow it.
      const [refusing] = charges
        .filter(({ taken }) => !taken.allowed)
        .toSorted((one, other) => other.taken.retryInMs - one.taken.retryInMs);
      if (refusing !== undefined) return next(refusalOf(res, refusing));
      charged.set(res, charges);
      for (const each of charges) addBudget(res, each.limit.name, budgetOf(each));
      const [last] = charges.toSorted((one, other) => other.taken.waitMs - one.taken.waitMs);
      if (patience === undefined || last === undefined || last.taken.waitMs === 0) return next();
      const scope = patience.scopeOf(res);
      try {
        await waiting(scope, () => passTime(patience.clock, last.taken.waitMs, scope.signal));
      } catch (error) {
        takeBack(res);
        return next(error instanceof NotAdmitted ? refusalOf(res, last) : error);
      }
      next();
    },
    giveBack(res) {
      for (const { limit, rule, taken, fullAt } of takeBack(res)) {
        const resetAt = fullAt - msPerToken(rule);
        addBudget(res, limit.name, { limit: rule.capacity, remaining: taken.remaining + 1, resetAt, isFree: true });
      }
    },
  };
}

/** Reports the limit that refuses a request, in headers and as the API's error. */
function refusalOf(res: Response, charge: Charge): Error {
  setBudget(res, charge.limit.name, budgetOf(charge));
  return charge.limit.refuse(secondsOf(charge.taken.retryInMs));
}

const budgetOf = ({ rule, taken, fullAt }: Charge): ChargedBudget => ({
  limit: rule.capacity,
  remaining: taken.remaining,
  resetAt: fullAt,
});
