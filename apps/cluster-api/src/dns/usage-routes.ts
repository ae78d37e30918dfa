import type { ClusterOperationId, DnsUsageBody } from '@corral/contracts';
import type { KeptReading } from '@corral/upstream-budget';
import { orLate } from '@corral/wire';
import type { RequestHandler } from 'express';
import type { Caller } from '../changes/caller.js';
import { callerOf } from '../http/caller.js';

/** The current usage of a team. */
interface DnsUse {
  readonly records: number;
  /** Reserved by running writes. */
  readonly reservedRecords: number;
  readonly activeTokens: number;
  readonly requestsLastHour: number;
}

interface DnsUsageRoutesDeps {
  readonly readUse: (team: Caller['team']) => Promise<DnsUse>;
  readonly readUpstream: () => Promise<UpstreamBudget>;
  readonly limits: { readonly records: number; readonly activeTokens: number };
}

export function dnsUsageRoutes({ readUse, readUpstream, limits }: DnsUsageRoutesDeps) {
  return {
    async getDnsUsage(_req, res) {
      const [use, upstream] = await Promise.all([readUse(callerOf(res).team), readUpstream()]);
      res.json({
        records: { used: use.records, reserved: use.reservedRecords, limit: limits.records },
        tokens: { active: use.activeTokens, limit: limits.activeTokens },
        requests: { lastHour: use.requestsLastHour },
        upstream: {
          ...{ limit: upstream.limit, remaining: upstream.remaining },
          resetAt: upstream.resetAt?.toISOString() ?? null,
          observedAt: upstream.observedAt?.toISOString() ?? null,
        },
      } satisfies DnsUsageBody);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** What is left of the upstream's request budget. Null when unknown. */
type UpstreamBudget = { readonly [K in 'limit' | 'remaining']: number | null } & {
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
