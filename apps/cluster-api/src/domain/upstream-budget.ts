import { setTimeout as pause } from 'node:timers/promises';
import type { KeptReading } from '@corral/hcloud';

/** What is left of the upstream's budget; null where nobody knows. */
export type UpstreamBudget = { readonly [K in 'limit' | 'remaining']: number | null } & {
  readonly [K in 'resetAt' | 'observedAt']: Date | null;
};

const unknownBudget: UpstreamBudget = { limit: null, remaining: null, resetAt: null, observedAt: null };

export interface UpstreamBudgetDeps {
  /** The accounts that gateways and reconcilers share, by project. */
  readonly readAll: () => Promise<Record<string, KeptReading>>;
  readonly onError: (error: unknown) => void;
  /** How long they are waited for. */
  readonly waitMs: number;
}

/** Reads what is left of the upstream's budget. Never rejects, and never waits for long: it is for people to look at. */
export const upstreamBudgetReader =
  ({ readAll, onError, waitMs }: UpstreamBudgetDeps) =>
  async (): Promise<UpstreamBudget> => {
    const over = new AbortController();
    try {
      const late = pause(waitMs, null, { signal: over.signal }).then(() => {
        throw new Error(`The budget was not read within ${waitMs} ms`);
      });
      return latestOf(Object.values(await Promise.race([readAll(), late])));
    } catch (error) {
      onError(error);
      return unknownBudget;
    } finally {
      over.abort();
    }
  };

/** A token that was replaced leaves the account of the old one behind for a while. */
function latestOf(readings: readonly KeptReading[]): UpstreamBudget {
  const [latest] = readings.toSorted((a, b) => b.observedAt.getTime() - a.observedAt.getTime());
  if (latest === undefined) return unknownBudget;
  const { limit, remaining, resetAt, observedAt } = latest;
  return { limit, remaining, resetAt, observedAt };
}
