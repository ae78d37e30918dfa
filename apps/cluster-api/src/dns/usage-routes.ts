import type { ClusterOperationId, DnsUsageBody } from '@corral/contracts';
import type { RequestHandler } from 'express';
import type { Caller } from '../changes/caller.js';
import { callerOf } from '../http/caller.js';
import type { UpstreamBudget } from './upstream-budget.js';

/** The current usage of a team. */
interface DnsUse {
  readonly records: number;
  /** Reserved by running writes. */
  readonly reservedRecords: number;
  /** The team's own quota; null for that of the installation. */
  readonly recordsMax: number | null;
  /** The team's own limit of requests per minute; null for that of the installation. */
  readonly requestsMax: number | null;
  readonly activeTokens: number;
  readonly requestsLastHour: number;
}

interface DnsUsageRoutesDeps {
  readonly readUse: (team: Caller['team']) => Promise<DnsUse>;
  readonly readUpstream: () => Promise<UpstreamBudget>;
  readonly limits: { readonly records: number; readonly activeTokens: number; readonly requestsPerMinute: number };
}

export function dnsUsageRoutes({ readUse, readUpstream, limits }: DnsUsageRoutesDeps) {
  return {
    async getDnsUsage(_req, res) {
      const [use, upstream] = await Promise.all([readUse(callerOf(res).team), readUpstream()]);
      res.json({
        records: { used: use.records, reserved: use.reservedRecords, limit: use.recordsMax ?? limits.records },
        tokens: { active: use.activeTokens, limit: limits.activeTokens },
        requests: { lastHour: use.requestsLastHour, limitPerMinute: use.requestsMax ?? limits.requestsPerMinute },
        upstream: {
          limit: upstream.limit,
          remaining: upstream.remaining,
          resetAt: upstream.resetAt?.toISOString() ?? null,
          observedAt: upstream.observedAt?.toISOString() ?? null,
        },
      } satisfies DnsUsageBody);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
