import type { Transaction } from '@corral/database';

/** Makes every started cluster and every adopted server due: when a hold begins, to be read, and when it ends, to be worked on. */
export async function makeAllDue(tx: Transaction, now: Date): Promise<void> {
  await tx.cluster.updateMany({ where: { startedAt: { not: null } }, data: { dueAt: now } });
  await tx.adoptedServer.updateMany({ data: { dueAt: now } });
}
