import { randomBytes } from 'node:crypto';
import { databaseUrl, onConnection } from './connection.js';
import { serverOfThisRun } from './server-of-this-run.js';
import { ensureTemplate } from './template.js';

export type TestDatabase = {
  url: string;
  /** Cuts every connection to it. Safe to repeat. */
  drop(): Promise<void>;
};

/** A database with all migrations applied and no rows, for one test file: a copy of a template that is made once. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = await serverOfThisRun();
  return copyOf(await ensureTemplate(serverUrl), serverUrl);
}

/** A database without a single table, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return copyOf('template0', await serverOfThisRun());
}

/** Postgres' other strategy writes every page to its log, and takes ten times as long. */
async function copyOf(template: string, serverUrl: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onConnection(serverUrl, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`),
  );
  return {
    url: databaseUrl(serverUrl, name),
    async drop() {
      await onConnection(serverUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}
