import type { Response } from 'express';

/** The reportable state of one limit. */
export interface Budget {
  /** Null for a limit that is not known. */
  readonly limit: number | null;
  readonly remaining: number;
  /** When the bucket is full again, in ms since 1970. */
  readonly resetAt: number;
  /** The caller's requests are not charged here; the limit matters only once others have used it up. */
  readonly isFree?: boolean;
}

/** That of a limit which was charged for a request. */
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
