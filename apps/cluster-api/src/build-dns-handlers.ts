import { randomUUID } from 'node:crypto';
import { countRequests, dnsTokenStore as issuedTokens } from '@corral/auth';
import { dnsLimits } from '@corral/contracts';
import { auditLog as dnsLog } from '@corral/dns-mirror';
import type { PartDeps } from './build-app.js';
import { auditLog } from './domain/audit-log.js';
import { dnsTokenService } from './domain/dns-tokens.js';
import { upstreamBudgetReader } from './domain/upstream-budget.js';
import { auditRoutes } from './routes/audit.js';
import { dnsTokenRoutes } from './routes/dns-tokens.js';
import { dnsUsageRoutes } from './routes/dns-usage.js';
import { apiAudit } from './store/api-audit.js';
import { dnsAudit } from './store/dns-audit.js';
import { dnsTokenStore } from './store/dns-tokens.js';

/** Somebody waits for it, and everything else of the answer is there. */
const BUDGET_MS_MAX = 1_000;

/** What a team has of the DNS API, and the log of all that was done in its name. */
export function buildDnsHandlers({ config, prisma, changeTeam, budgets, log }: PartDeps) {
  const tokens = dnsTokenStore(prisma, changeTeam);
  const [mirror, issued] = [dnsLog(prisma), issuedTokens(prisma)];
  return {
    ...dnsTokenRoutes({ store: tokens, tokens: dnsTokenService({ store: tokens, newId: randomUUID }) }),
    ...dnsUsageRoutes({
      async readUse(team) {
        const [held, activeTokens, requestsLastHour] = await Promise.all([
          mirror.readUsage(team),
          issued.countActive(team),
          countRequests(prisma, team.id),
        ]);
        return { ...held, activeTokens, requestsLastHour };
      },
      readUpstream: upstreamBudgetReader({
        readAll: budgets.readAll,
        onError: (error) => log.warn('upstream budget not read', { error }),
        waitMs: BUDGET_MS_MAX,
      }),
      limits: { records: config.dnsRecordsPerTeam, activeTokens: dnsLimits.activeTokensPerTeam },
    }),
    ...auditRoutes({ log: auditLog({ api: apiAudit(prisma), dns: dnsAudit(prisma) }) }),
  };
}
