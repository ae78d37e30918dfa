import { startPostgres } from './start-postgres.js';

let startedHere: Promise<string> | undefined;

/**
 * The Postgres for tests: the one that `npm test` started for all packages, else one that this process starts when it first
 * needs it.
 *
 * @returns the address of the database `postgres`, as the superuser
 */
export async function serverOfThisRun(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (env.CORRAL_TEST_POSTGRES_URL) return env.CORRAL_TEST_POSTGRES_URL;
  startedHere ??= startServer();
  return startedHere;
}

/** Nobody stops it: it ends with this process. */
const startServer = async (): Promise<string> => (await startPostgres()).url;
