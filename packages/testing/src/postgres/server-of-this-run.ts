import { open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../wait-for.js';
import { startPostgres } from './start-postgres.js';

let startedHere: Promise<string> | undefined;

/**
 * The Postgres for tests: the one that `npm test` started for all packages, else one that the first test file in need
 * starts for its Jest run. Jest gives every test file modules of its own, so its files find each other's server
 * through the folder CORRAL_TEST_RUN_DIR, which `tools/jest.mjs` makes.
 *
 * @returns the address of the database `postgres`, as the superuser
 */
export async function serverOfThisRun(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  if (env.CORRAL_TEST_POSTGRES_URL) return env.CORRAL_TEST_POSTGRES_URL;
  startedHere ??= env.CORRAL_TEST_RUN_DIR ? sharedServer(env.CORRAL_TEST_RUN_DIR) : startServer();
  return startedHere;
}

/** Nobody stops it: it ends with this process. */
const startServer = async (): Promise<string> => (await startPostgres()).url;

async function sharedServer(runDir: string): Promise<string> {
  const urlFile = join(runDir, 'postgres-url');
  if (await isFirst(join(runDir, 'postgres-starting'))) {
    const url = await startServer();
    await writeFile(`${urlFile}.new`, url, { mode: 0o600 });
    await rename(`${urlFile}.new`, urlFile);
    return url;
  }
  return waitFor('another test file to start Postgres', () => readFile(urlFile, 'utf8'), { timeoutMs: 60_000 });
}

async function isFirst(lockFile: string): Promise<boolean> {
  try {
    await (await open(lockFile, 'wx')).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
