import type { Response } from 'express';
import type { Taken } from './token-bucket.js';

/** What an answer may tell of one limit. */
export interface Budget {
  readonly limit: number;
  readonly remaining: number;
  /** When it is full again. */
  readonly resetAt: Date;
  /** Requests of this caller cost nothing of it: it bites where others have used it up. */
  readonly isFree?: boolean;
}

const told = new WeakMap<Response, Map<string, Budget>>();

/**
 * Tells of a limit in `RateLimit-Limit`, `-Remaining` and `-Reset`. Of several the one is told that bites next: that
 * has the least left, and of equals the one that is full again last.
 */
export function tellBudget(res: Response, name: string, budget: Budget): void {
  const budgets = told.get(res) ?? new Map<string, Budget>();
  told.set(res, budgets.set(name, budget));
  state(res, budgets);
}

/** Tells of a limit that was met, and of no other. */
export function tellOnly(res: Response, name: string, budget: Budget): void {
  const budgets = new Map([[name, budget]]);
  told.set(res, budgets);
  state(res, budgets);
}

export function budgetOf(limit: number, { remaining, fullInMs }: Taken): Budget {
  return { limit, remaining, resetAt: new Date(Date.now() + fullInMs) };
}

function state(res: Response, budgets: ReadonlyMap<string, Budget>): void {
  if (res.headersSent) return;
  const all = [...budgets.values()];
  const biting = all.filter(({ isFree, remaining }) => !isFree || remaining < 1);
  const [next] = (biting.length > 0 ? biting : all).sort(
    (one, other) => one.remaining - other.remaining || other.resetAt.getTime() - one.resetAt.getTime(),
  );
  if (next === undefined) return;
  res.setHeader('RateLimit-Limit', next.limit);
  res.setHeader('RateLimit-Remaining', next.remaining);
  res.setHeader('RateLimit-Reset', Math.ceil(next.resetAt.getTime() / 1_000));
}
