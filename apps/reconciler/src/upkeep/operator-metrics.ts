import { findHold, type Prisma } from '@corral/database';
import type { Metrics } from '@corral/service';
import { ageOf, readGauge } from '../loop/metrics.js';

/** What operators did, and did not. Read from Postgres, so every replica reports the same values. */
export function operatorMetrics(metrics: Metrics, prisma: Prisma): void {
  readGauge(metrics, {
    name: 'corral_backup_age_seconds',
    help: 'Time since the last backup by the operator’s command; absent if there was none',
    read: async () => {
      const where = { action: 'database.backup' };
      const last = await prisma.operatorAct.findFirst({ where, orderBy: { createdAt: 'desc' } });
      return last && ageOf(prisma, last.createdAt);
    },
  });
  readGauge(metrics, {
    name: 'corral_hold_age_seconds',
    help: 'Time since the hold that is in force began; 0 without one',
    read: async () => {
      const hold = await findHold(prisma);
      return hold === null ? 0 : ageOf(prisma, hold.begunAt);
    },
  });
}
