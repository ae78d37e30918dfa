import type { BudgetStore } from './budget-store.js';
import { postgresBudgetStore, type RunStatement } from './postgres-store.js';
import { redisBudgetStore } from './redis-store.js';

/** The one place where an installation keeps its budgets: Redis where there is one, else Postgres. */
export function connectBudgetStore(options: {
  readonly redisUrl: string | undefined;
  readonly run: RunStatement;
  readonly onError: (error: Error) => void;
}): BudgetStore {
  const { redisUrl, run, onError } = options;
  return redisUrl === undefined ? postgresBudgetStore(run) : redisBudgetStore(redisUrl, onError);
}
