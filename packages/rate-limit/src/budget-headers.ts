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

/** Of an answer, by name: in `res.locals`, which costs less than a `WeakMap`. */
const reportedOn = ({ locals }: Response): Map<string, Budget> | undefined => locals.budgets;

/**
 * Reports a limit in `RateLimit-Limit`, `-Remaining` and `-Reset`, which are written with the head of the answer. With several
 * limits the one that bites next is reported: the one with the least left, and among equals the one that is full last.
 */
export function addBudget(res: Response, name: string, budget: Budget): void {
  const budgets = reportedOn(res);
  if (budgets === undefined) setBudget(res, name, budget);
  else budgets.set(name, budget);
}

/** The state of a limit as reported last. Null for a limit that was not. */
export const reportedBudget = (res: Response, name: string): Budget | null => reportedOn(res)?.get(name) ?? null;

/** Reports only the limit that refused the request. */
export function setBudget(res: Response, name: string, budget: Budget): void {
  res.locals.budgets = new Map([[name, budget]]);
}

const bites = ({ isFree, remaining }: Budget): boolean => !isFree || remaining < 1;

/** Whether the one bites before the other. */
function isBefore(one: Budget, other: Budget): boolean {
  if (bites(one) !== bites(other)) return bites(one);
  return one.remaining === other.remaining ? one.resetAt > other.resetAt : one.remaining < other.remaining;
}

/** What an answer says of the reported limits: names and values of headers in turns. */
export function budgetHeaders(res: Response): string[] {
  let next: Budget | undefined;
  for (const budget of reportedOn(res)?.values() ?? []) {
    if (next === undefined || isBefore(budget, next)) next = budget;
  }
  if (next === undefined) return [];
  const left = [
    'RateLimit-Remaining',
    String(next.remaining),
    'RateLimit-Reset',
    String(Math.ceil(next.resetAt / 1_000)),
  ];
  return next.limit === null ? left : ['RateLimit-Limit', String(next.limit), ...left];
}
