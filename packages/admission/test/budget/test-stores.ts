import { randomUUID } from 'node:crypto';
import { connectPool, type Pool } from '@corral/database';
import { createTestDatabase, patientPool } from '@corral/testing';

/** A Postgres that keeps budgets. */
export interface TestPlace {
  readonly pool: Pool;
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
  return {
    pool,
    wipe: async () => void (await pool.query('TRUNCATE upstream_budget')),
    async stop() {
      await pool.end();
      await database.drop();
    },
  };
}
