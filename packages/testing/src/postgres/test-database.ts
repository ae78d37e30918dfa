import { randomBytes } from 'node:crypto';
import { explainFailures } from '../failures/explain.js';
import { databaseUrl, onConnection } from './connection.js';
import { noteKept } from './kept.js';
import { serverOfThisRun } from './server-of-this-run.js';
import { ensureTemplate } from './template.js';

export type TestDatabase = {
  url: string;
  /** Cuts every connection to it. Safe to repeat. It is kept when a test has failed meanwhile, see `npm run test:database`. */
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
  let isKept = false;
  const callOff = explainFailures('database', () => {
    isKept ||= noteKept(name);
    return isKept ? `${name} is kept: npm run test:database` : '';
  });
  const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
  return {
    url: databaseUrl(serverUrl, name),
    async drop() {
      callOff();
      const end = isKept ? cut : `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
      await onConnection(serverUrl, (client) => client.query(end));
    },
  };
}
