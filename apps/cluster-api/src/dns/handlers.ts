import { randomUUID } from 'node:crypto';
import type { BudgetStore } from '@corral/admission';
import { countRequests, dnsTokenStore as issuedTokens, startDnsSession } from '@corral/auth';
import { dnsLimits } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { auditLog as dnsLog } from '@corral/dns-data';
import type { Log } from '@corral/service';
import type { ChangeTeam } from '../changes/team-changes.js';
import { type DnsApi, dnsSessionRoutes } from './session-routes.js';
import { dnsTokenRoutes } from './token-routes.js';
import { dnsTokenStore } from './token-store.js';
import { dnsTokenService } from './tokens.js';
import { upstreamBudgetReader } from './upstream-budget.js';
import { dnsUsageRoutes } from './usage-routes.js';

/** Time limit in ms. Short because the rest of the response waits for it. */
const BUDGET_MS_MAX = 1_000;

export interface DnsConfig {
  /** The quota of records per team, as configured in the gateways. */
  readonly dnsRecordsPerTeam: number;
  readonly dnsRequestsPerTeamPerMinute: number;
  /** Null when the installation does not state where its DNS API is: people then get no DNS token for their session. */
  readonly dnsApi: DnsApi | null;
}

export interface DnsHandlerDeps {
  readonly config: DnsConfig;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  /** Reads the upstream's budget, which gateways and reconcilers share. */
  readonly budgets: Pick<BudgetStore, 'readAll'>;
  readonly log: Log;
}

/** Builds the handlers for DNS tokens and DNS usage. */
export function buildDnsHandlers({ config, prisma, changeTeam, budgets, log }: DnsHandlerDeps) {
  const tokens = dnsTokenStore(prisma, changeTeam);
  const [mirror, issued] = [dnsLog(prisma), issuedTokens(prisma)];
  return {
    ...dnsTokenRoutes({ store: tokens, tokens: dnsTokenService({ store: tokens, newId: randomUUID }) }),
    ...dnsSessionRoutes({ start: (owner) => startDnsSession(prisma, owner), dnsApi: config.dnsApi }),
    ...dnsUsageRoutes({
      async readUse(team) {
        const [usage, activeTokens, requestsLastHour] = await Promise.all([
          mirror.readUsage(team),
          issued.countActive(team),
          countRequests(prisma, team.id),
        ]);
        return { ...usage, activeTokens, requestsLastHour };
      },
      readUpstream: upstreamBudgetReader({
        readAll: budgets.readAll,
        onError: (error) => log.warn('upstream budget not read', { error }),
        waitMs: BUDGET_MS_MAX,
      }),
      limits: {
        records: config.dnsRecordsPerTeam,
        activeTokens: dnsLimits.activeTokensPerTeam,
        requestsPerMinute: config.dnsRequestsPerTeamPerMinute,
      },
    }),
  };
}
