import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { connectPool, type Pool } from '@corral/database';
import { createTestDatabase, deleteRows, patientPool } from '@corral/testing';
import { runAdmin } from '../../src/run-admin.js';

export const ZONE = 'example.test';

const migrationsDir = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** What `backup -` wrote. */
  readonly bytes: Buffer;
}

export interface TestAdmin {
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** An empty folder that serves as the working directory. */
  readonly folder: string;
  run(...argv: string[]): Promise<Ran>;
  runWith(env: NodeJS.ProcessEnv, ...argv: string[]): Promise<Ran>;
  /** Runs as at a terminal where a person gives this answer to each question. The questions are in `err`. */
  runAnswering(answer: boolean, ...argv: string[]): Promise<Ran>;
  /** Runs without waiting for a reconciler. */
  runWithoutPatience(...argv: string[]): Promise<Ran>;
  /** Runs with --json and returns the value. Throws when the command fails. */
  json<T>(...argv: string[]): Promise<T>;
  /** Resets the installation to its initial state without teams and users. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/** How long to wait for a reconciler. Generous, so that slow machines do not fail tests. */
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
  const runFor = async (
    takenWithinMs: number,
    env: NodeJS.ProcessEnv,
    argv: string[],
    answer?: boolean,
  ): Promise<Ran> => {
    let out = '';
    let err = '';
    const chunks: Buffer[] = [];
    const stdout = new PassThrough().on('data', (chunk: Buffer) => chunks.push(chunk));
    const io = {
      out(text: string) {
        out += text;
      },
      err(text: string) {
        err += text;
      },
    };
    const code = await runAdmin(argv, {
      env,
      folder,
      migrationsDir: env.MIGRATIONS_DIR ?? migrationsDir,
      takenWithinMs,
      stdout,
      ...io,
      ...(answer !== undefined && {
        async confirm(question: string) {
          err += `${question}\n`;
          return answer;
        },
      }),
    });
    return { code, out, err, bytes: Buffer.concat(chunks) };
  };
  const env = { DATABASE_URL: database.url, DNS_ZONE_NAME: ZONE };
  const run = (...argv: string[]) => runFor(PATIENT_MS, env, argv);
  return {
    databaseUrl: database.url,
    pool,
    folder,
    run,
    runWith: (env, ...argv) => runFor(PATIENT_MS, env, argv),
    runAnswering: (answer, ...argv) => runFor(PATIENT_MS, env, argv, answer),
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
