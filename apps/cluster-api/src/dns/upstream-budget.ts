import type { KeptReading } from '@corral/admission';
import { orLate } from '@corral/service';

/** What is left of the upstream's request budget. Null when unknown. */
export type UpstreamBudget = { readonly [K in 'limit' | 'remaining']: number | null } & {
  readonly [K in 'resetAt' | 'observedAt']: Date | null;
};

const unknownBudget: UpstreamBudget = { limit: null, remaining: null, resetAt: null, observedAt: null };

interface UpstreamBudgetDeps {
  /** Reads the budgets that gateways and reconcilers share, by project. */
  readonly readAll: () => Promise<Record<string, KeptReading>>;
  readonly onError: (error: unknown) => void;
  /** Time limit of the read. */
  readonly waitMs: number;
}

/** Reads what is left of the upstream's budget. Never rejects: the value is informational. */
export const upstreamBudgetReader =
  ({ readAll, onError, waitMs }: UpstreamBudgetDeps) =>
  async (): Promise<UpstreamBudget> => {
    try {
      const late = () => new Error(`The budget was not read within ${waitMs} ms`);
      return latestOf(Object.values(await orLate(readAll(), waitMs, late)));
    } catch (error) {
      onError(error);
      return unknownBudget;
    }
  };

/** After a token was replaced, the budget of the old one remains for a while. */
function latestOf(readings: readonly KeptReading[]): UpstreamBudget {
  const [latest] = readings.toSorted((a, b) => b.observedAt.getTime() - a.observedAt.getTime());
  if (latest === undefined) return unknownBudget;
  const { limit, remaining, resetAt, observedAt } = latest;
  return { limit, remaining, resetAt, observedAt };
}
