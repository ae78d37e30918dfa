import { retentionLimits, type TeamId } from '@corral/contracts';
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
