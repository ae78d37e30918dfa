import { randomUUID } from 'node:crypto';
import { connectPool, connectPrisma, type Prisma } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';

/** A Postgres that keeps budgets. */
export interface TestPlace {
  readonly prisma: Prisma;
  /** Deletes all budgets. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

export const aProject = (): string => `test-${randomUUID()}`;

export async function startPlace(): Promise<TestPlace> {
  const database = await createTestDatabase();
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(pool, patientTransactions);
  return {
    prisma,
    wipe: async () => void (await prisma.upstreamBudget.deleteMany()),
    async stop() {
      await prisma.$disconnect();
      await pool.end();
      await database.drop();
    },
  };
}
