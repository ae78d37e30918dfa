import { randomUUID } from 'node:crypto';
import { connectPool, type Pool } from '@corral/database';
import { createTestDatabase, patientPool, redisForTests } from '@corral/testing';
import { Redis } from 'ioredis';
import { type BudgetStore, connectBudgetStore } from '../../src/budget/budget-store.js';

/** A store of budgets to which several processes can connect. */
export interface TestPlace {
  connect(): Promise<BudgetStore>;
  /** Deletes all data. */
  wipe(): Promise<void>;
  /** Writes a text that is no state. */
  spoil(project: string, text: string): Promise<void>;
  stop(): Promise<void>;
}

export const aProject = (): string => `test-${randomUUID()}`;
const ignored = (): void => undefined;

export async function postgresPlace(): Promise<TestPlace> {
  const database = await createTestDatabase();
  const pool: Pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: ignored,
  });
  return {
    connect: async () => connectBudgetStore({ redisUrl: undefined, database: pool, onError: ignored }),
    wipe: async () => void (await pool.query('TRUNCATE upstream_budget')),
    spoil: async (project, text) =>
      void (await pool.query('INSERT INTO upstream_budget (project, version, state) VALUES ($1, 7, $2)', [
        `4:${project}`,
        text,
      ])),
    async stop() {
      await pool.end();
      await database.drop();
    },
  };
}

/** @returns null without a Redis: see `missingRedis` */
export async function redisPlace(): Promise<TestPlace | null> {
  const server = await redisForTests();
  if (server === null) return null;
  const direct = new Redis(server.url);
  const database = { query: () => Promise.reject(new Error('Postgres is not asked where there is a Redis')) };
  return {
    connect: async () => connectBudgetStore({ redisUrl: server.url, database, onError: ignored }),
    wipe: async () => void (await direct.flushall()),
    spoil: async (project, text) =>
      void (await direct.hset('corral:upstream-budget:4', project, text, `${project}:version`, 7)),
    async stop() {
      direct.disconnect();
      await server.stop();
    },
  };
}
