import { connectPool, connectPrisma, type Pool, type Prisma } from '@corral/database';
import { createTestDatabase, patientPool, patientTransactions } from '@corral/testing';
import { dnsTokenStore, teamStore } from '../src/index.js';

export interface AuthDatabase {
  readonly url: string;
  readonly pool: Pool;
  readonly prisma: Prisma;
  readonly teams: ReturnType<typeof teamStore>;
  readonly tokens: ReturnType<typeof dnsTokenStore>;
  close(): Promise<void>;
}

/** A database for one test file, with a pool and a Prisma client. */
export async function openAuthDatabase(): Promise<AuthDatabase> {
  const database = await createTestDatabase();
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const prisma = connectPrisma(database.url, patientTransactions);
  return {
    url: database.url,
    pool,
    prisma,
    teams: teamStore(prisma),
    tokens: dnsTokenStore(prisma),
    async close() {
      await pool.end();
      await prisma.$disconnect();
      await database.drop();
    },
  };
}
