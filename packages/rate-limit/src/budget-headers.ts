import type { Response } from 'express';

/** The reportable state of one limit. */
export interface Budget {
  readonly limit: number;
  readonly remaining: number;
  /** When the bucket is full again. */
  readonly resetAt: Date;
  /** The caller's requests are not charged here; the limit matters only once others have used it up. */
  readonly isFree?: boolean;
}

const reported = new WeakMap<Response, Map<string, Budget>>();

/**
 * Reports a limit in `RateLimit-Limit`, `-Remaining` and `-Reset`. With several limits the one that bites next is
 * reported: the one with the least left, and among equals the one that is full last.
 */
export function addBudget(res: Response, name: string, budget: Budget): void {
  const budgets = reported.get(res) ?? new Map<string, Budget>();
  reported.set(res, budgets.set(name, budget));
  state(res, budgets);
}

/** The state of a limit as reported last. Null for a limit that was not. */
export const reportedBudget = (res: Response, name: string): Budget | null => reported.get(res)?.get(name) ?? null;

/** Reports only the limit that refused the request. */
export function setBudget(res: Response, name: string, budget: Budget): void {
  const budgets = new Map([[name, budget]]);
  reported.set(res, budgets);
  state(res, budgets);
}

const bites = ({ isFree, remaining }: Budget): boolean => !isFree || remaining < 1;

/** Whether the one bites before the other. */
function isBefore(one: Budget, other: Budget): boolean {
  if (bites(one) !== bites(other)) return bites(one);
  return one.remaining === other.remaining ? one.resetAt > other.resetAt : one.remaining < other.remaining;
}

function state(res: Response, budgets: ReadonlyMap<string, Budget>): void {
  if (res.headersSent) return;
  let next: Budget | undefined;
  for (const budget of budgets.values()) if (next === undefined || isBefore(budget, next)) next = budget;
  if (next === undefined) return;
  res.setHeader('RateLimit-Limit', next.limit);
  res.setHeader('RateLimit-Remaining', next.remaining);
  res.setHeader('RateLimit-Reset', Math.ceil(next.resetAt.getTime() / 1_000));
}
