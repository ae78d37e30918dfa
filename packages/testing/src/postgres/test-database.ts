import { randomBytes } from 'node:crypto';
import { databaseUrl, onConnection } from './connection.js';
import { startPostgres } from './start-postgres.js';
import { ensureTemplate } from './template.js';

export type TestDatabase = {
  url: string;
  /** Closes all its connections. Safe to repeat. */
  drop(): Promise<void>;
};

/** Creates a migrated, empty database for one test file, as a copy of a template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = await serverOfThisRun();
  return copyOf(await ensureTemplate(serverUrl), serverUrl);
}

/** Creates a database without tables, for tests of migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return copyOf('template0', await serverOfThisRun());
}

/** Postgres' default strategy writes every page to the WAL, and takes ten times as long. */
async function copyOf(template: string, serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onConnection(serverUrl, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`),
  );
  return {
    url: databaseUrl(serverUrl, name),
    drop: () =>
      onConnection(serverUrl, async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}

let startedHere: Promise<string> | undefined;

/**
 * The Postgres for tests: the server started by `npm test` for all packages, otherwise one that this process starts on
 * first use.
 *
 * @returns the URL of the database `postgres`, as the superuser
 */
async function serverOfThisRun(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (env.CORRAL_TEST_POSTGRES_URL) return env.CORRAL_TEST_POSTGRES_URL;
  startedHere ??= startServer();
  return startedHere;
}

/** Never stopped explicitly: the server ends with this process. */
const startServer = async (): Promise<string> => (await startPostgres()).url;

/**
 * Timeouts for pools in tests, which share a busy machine. Production timeouts would fail tests that are about
 * something else.
 */
export const patientPool = {
  connectTimeoutMs: 30_000,
  statementTimeoutMs: 30_000,
  // A test that holds a lock may start a process meanwhile.
  idleInTransactionMs: 120_000,
} as const;

/** The same for Prisma's transactions, which wait for each other's locks. */
export const patientTransactions = { maxWait: 30_000, timeout: 30_000 } as const;
