import { mkdtempSync, rmSync } from 'node:fs';
import { getPriority, setPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyMigrations, connectPool, type Pool } from '@corral/database';
import { type RunningProcess, startPostgres, startProcess } from '@corral/testing';

export const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

export const UNLIMITED = '1000000000';

/** What the image of the reconciler gives to Node.js: `infra/Dockerfile`. */
export const RECONCILER_IMAGE_OPTIONS = '--v8-pool-size=1';
/** What the image of the cluster API gives to Node.js. */
export const API_IMAGE_OPTIONS = '--max-semi-space-size=4 --v8-pool-size=1';

/** The parts of every benchmark: its own durable Postgres, and real processes that log to files. */
export interface Rig {
  /** A folder that is removed with the rig. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** Starts a built program and waits until it answers. It ends with the rig at the latest. */
  run(file: string, env: Record<string, string>, readyUrl: string): Promise<RunningProcess>;
  /** Clean-up that runs when the rig ends. */
  onStop(stop: () => Promise<unknown>): void;
  /** Ends everything, last first. */
  stop(): Promise<void>;
}

/** @param countsStatements whether Postgres counts statements, for `costMeter`; that takes a little of its time */
export async function startRig({ countsStatements = false } = {}): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-bench-'));
  const settings = countsStatements ? ['shared_preload_libraries=pg_stat_statements'] : [];
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), settings });
  const stops: (() => Promise<unknown>)[] = [
    () => postgres.stop(),
    async () => rmSync(folder, { recursive: true, force: true }),
  ];
  await applyMigrations({ databaseUrl: postgres.url, migrationsDir: join(repository, 'prisma', 'migrations') });
  const pool = connectPool({
    databaseUrl: postgres.url,
    applicationName: 'bench',
    onIdleError: () => undefined,
    statementTimeoutMs: 300_000,
  });
  if (countsStatements) await pool.query('CREATE EXTENSION pg_stat_statements');
  stops.unshift(() => pool.end());
  return {
    folder,
    pool,
    databaseUrl: postgres.url,
    async run(file, env, readyUrl) {
      const child = await startProcess({
        // Logs go to a file, as in production, and not through the process that generates the load.
        command: 'sh',
        args: [
          '-c',
          'exec "$0" "$1" >"$2" 2>&1',
          process.execPath,
          join(repository, file),
          `${folder}/${stops.length}.log`,
        ],
        env: { NODE_ENV: 'production', ...env },
        readyUrl,
      });
      stops.unshift(() => child.stop());
      return child;
    },
    onStop: (stop) => void stops.unshift(stop),
    async stop() {
      for (const stop of stops) await stop();
    },
  };
}

const BEHIND_ALL = 19;

/** From now on, these processes only get the CPU time that others leave: in production they have other machines. */
export function yieldCores(pids: readonly number[]): void {
  for (const pid of pids) setPriority(pid, Math.min(BEHIND_ALL, getPriority() + 10));
}
