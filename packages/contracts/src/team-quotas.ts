/**
 * The quotas that operators set per team, with the largest value. The smallest is 0: nothing new may be made, and what is
 * there stays. Beyond the maximum a list, a page or a statement of the team would no longer be bounded in practice.
 */
export const teamQuotaMax = {
  clusters: 1_000,
  poolsPerCluster: 100,
  nodesPerCluster: 1_000,
  adoptedServers: 1_000,
  dnsRecords: 100_000,
} as const;
export type TeamQuota = keyof typeof teamQuotaMax;
export const teamQuotas = Object.keys(teamQuotaMax) as readonly TeamQuota[];

/**
 * The limits of requests per minute that operators set per team, with the largest value. The smallest is 1. `dnsRequests` are
 * those of the whole team to the DNS API, `dnsTokenRequests` those of one DNS token, and `accountRequests` those of one service
 * account to the cluster API.
 */
export const teamLimitMax = { dnsRequests: 60_000, dnsTokenRequests: 60_000, accountRequests: 60_000 } as const;
export type TeamLimit = keyof typeof teamLimitMax;
export const teamLimits = Object.keys(teamLimitMax) as readonly TeamLimit[];
