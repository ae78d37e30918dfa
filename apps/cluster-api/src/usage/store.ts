import { retentionLimits, type TeamId, type UsageBody } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { HOUR_MS, type HourRecord, type UsageRange } from './rules.js';

const KEPT_MS = (retentionLimits.usageDays + 1) * 24 * HOUR_MS;

/** The recorded hours of a range, oldest first. Never more than are kept, however long the range is. @param now Unix time in ms */
export const listHours = (
  prisma: Prisma,
  teamId: TeamId,
  { from, to }: UsageRange,
  now: number,
): Promise<HourRecord[]> =>
  prisma.usageHour.findMany({
    where: {
      teamId,
      hour: { gte: new Date(Math.max(from, now - KEPT_MS)), lt: new Date(Math.max(to, now - KEPT_MS)) },
    },
    orderBy: { hour: 'asc' },
  });

/** What the sleep of each cluster has saved, in the order of their names. Amounts have two digits after the point. */
export async function listSaved(prisma: Prisma, teamId: TeamId): Promise<UsageBody['savedBySleep']> {
  const rows = await prisma.cluster.findMany({
    where: { teamId, savedSince: { not: null } },
    orderBy: { name: 'asc' },
    select: { name: true, savedAmount: true, savedCurrency: true, savedSince: true },
  });
  return rows.map(({ name: cluster, savedAmount, savedCurrency, savedSince }) => ({
    cluster,
    since: (savedSince as Date).toISOString(),
    amount: (savedAmount as NonNullable<typeof savedAmount>).toFixed(2),
    currency: savedCurrency as string,
  }));
}
