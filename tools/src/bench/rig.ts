import { mkdtempSync, rmSync } from 'node:fs';
import { getPriority, setPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyMigrations, connectPool, type Pool } from '@corral/database';
import { type RunningProcess, startPostgres, startProcess } from '@corral/testing';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

export const UNLIMITED = '1000000000';

/** What every benchmark stands on: a durable Postgres of its own, and real processes that log to files. */
export interface Rig {
  /** Gone with the rig. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** Starts a built program and waits until it answers. It ends with the rig, if not before. */
  run(file: string, env: Record<string, string>, readyUrl: string): Promise<RunningProcess>;
  /** What else ends with the rig. */
  onStop(stop: () => Promise<unknown>): void;
  /** Ends everything, the last first. */
  stop(): Promise<void>;
}

export async function startRig(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-bench-'));
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres') });
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
  stops.unshift(() => pool.end());
  return {
    ...{ folder, pool, databaseUrl: postgres.url },
    async run(file, env, readyUrl) {
      const child = await startProcess({
        // Logs go to a file, as in service, and not through the process that makes the load.
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

/** From now on these processes get what others leave of the cores: elsewhere they have machines of their own. */
export function yieldCores(pids: readonly number[]): void {
  for (const pid of pids) setPriority(pid, Math.min(BEHIND_ALL, getPriority() + 10));
}
