import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectPool, type Pool } from '@corral/database';
import { createTestDatabase, deleteRows, patientPool } from '@corral/testing';
import { runAdmin } from '../../src/run-admin.js';

export const ZONE = 'example.test';

const migrationsDir = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url));

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface TestAdmin {
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** An empty folder, as the one in which the command is run. */
  readonly folder: string;
  run(...argv: string[]): Promise<Ran>;
  runWith(env: NodeJS.ProcessEnv, ...argv: string[]): Promise<Ran>;
  /** Where no reconciler is there to be waited for. */
  runWithoutPatience(...argv: string[]): Promise<Ran>;
  /** Runs with --json and gives the value. Fails when the command does. */
  json<T>(...argv: string[]): Promise<T>;
  /** An installation as it is at first: with no team, no user, nothing. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/** Until a reconciler takes a run. A test in which one is there waits for it, however slow the machine is. */
const PATIENT_MS = 60_000;

export async function startAdmin(): Promise<TestAdmin> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'corral-admin-'));
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'admin test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const runFor = async (takenWithinMs: number, env: NodeJS.ProcessEnv, argv: string[]): Promise<Ran> => {
    let out = '';
    let err = '';
    const io = {
      out(text: string) {
        out += text;
      },
      err(text: string) {
        err += text;
      },
    };
    const code = await runAdmin(argv, { env, folder, migrationsDir, takenWithinMs, ...io });
    return { code, out, err };
  };
  const env = { DATABASE_URL: database.url, DNS_ZONE_NAME: ZONE };
  const run = (...argv: string[]) => runFor(PATIENT_MS, env, argv);
  return {
    ...{ databaseUrl: database.url, pool, folder, run },
    runWith: (env, ...argv) => runFor(PATIENT_MS, env, argv),
    runWithoutPatience: (...argv) => runFor(0, env, argv),
    async json<T>(...argv: string[]) {
      const { code, out, err } = await run('--json', ...argv);
      if (code !== 0) throw new Error(`admin ${argv.join(' ')} ended with ${code}: ${err}`);
      return JSON.parse(out) as T;
    },
    empty: () => deleteRows(pool),
    async stop() {
      await pool.end();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
