import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectPool, type Pool } from '@corral/database';
import { createTestDatabase, patientPool } from '@corral/testing';
import { runAdmin } from '../../src/run-admin.js';

export const ZONE = 'example.test';

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
  /** Runs with --json and gives the value. Fails when the command does. */
  json<T>(...argv: string[]): Promise<T>;
  stop(): Promise<void>;
}

export async function startAdmin({ takenWithinMs = 10_000 } = {}): Promise<TestAdmin> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'corral-admin-'));
  const pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'admin test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  const runWith = async (env: NodeJS.ProcessEnv, ...argv: string[]): Promise<Ran> => {
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
    const code = await runAdmin(argv, { env, folder, takenWithinMs, ...io });
    return { code, out, err };
  };
  const run = (...argv: string[]) => runWith({ DATABASE_URL: database.url, DNS_ZONE_NAME: ZONE }, ...argv);
  return {
    ...{ databaseUrl: database.url, pool, folder, run, runWith },
    async json<T>(...argv: string[]) {
      const { code, out, err } = await run('--json', ...argv);
      if (code !== 0) throw new Error(`admin ${argv.join(' ')} ended with ${code}: ${err}`);
      return JSON.parse(out) as T;
    },
    async stop() {
      await pool.end();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}
