import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applyMigrations, connectPool, type Pool } from '@corral/database';
import { type RunningProcess, startPostgres, startProcess } from '@corral/testing';

export const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
export const migrationsDir = join(repository, 'prisma', 'migrations');

export const UNLIMITED = '1000000000';

/** A durable Postgres, and the programs that run beside it. */
export interface Rig {
  /** A folder that is removed with the rig. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly pool: Pool;
  /** The main process of Postgres. */
  readonly postgresPid: number;
  /**
   * Starts a built program, and waits until it answers. It ends with the rig at the latest.
   *
   * @param niceness how far it stands back when processors are short, as for `nice`
   */
  run(file: string, env: Record<string, string>, readyUrl: string, niceness?: number): Promise<RunningProcess>;
  /** Clean-up that runs when the rig ends. */
  onStop(stop: () => Promise<unknown>): void;
  /** Ends everything, last first. */
  stop(): Promise<void>;
}

/** @param dataDir a folder of Postgres that stays; without it, an empty one that goes with the rig */
export async function startRig({ dataDir }: { dataDir?: string } = {}): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'corral-rig-'));
  const postgres = await startPostgres({ persistent: true, ...(dataDir === undefined ? {} : { dataDir }) });
  const stops: (() => Promise<unknown>)[] = [
    () => postgres.stop(),
    async () => rmSync(folder, { recursive: true, force: true }),
  ];
  await applyMigrations({ databaseUrl: postgres.url, migrationsDir });
  const pool = connectPool({
    databaseUrl: postgres.url,
    applicationName: 'rig',
    onIdleError: () => undefined,
    statementTimeoutMs: 3_600_000,
  });
  stops.unshift(() => pool.end());
  return {
    folder,
    pool,
    databaseUrl: postgres.url,
    postgresPid: Number.parseInt(readFileSync(join(postgres.dataDir, 'data', 'postmaster.pid'), 'utf8'), 10),
    async run(file, env, readyUrl, niceness = 0) {
      const log = `${folder}/${stops.length}.log`;
      const child = await startProcess({
        // Logs go to a file, as in production, and not through the process that generates the load.
        command: 'sh',
        args: ['-c', `${standBack(niceness)} "$@" >"$0" 2>&1`, log, process.execPath, join(repository, file)],
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

/**
 * Shell: begins a command that stands back. Each of our processes is a session of its own, which Linux may schedule as a group: the
 * niceness of a process then counts within its group only, and the group has one of its own (sched(7), "The autogroup feature").
 */
const standBack = (niceness: number): string => {
  const ofGroup = '/proc/self/autogroup';
  return niceness === 0
    ? 'exec'
    : `if [ -w ${ofGroup} ]; then echo ${niceness} >${ofGroup}; fi; exec nice -n ${niceness}`;
};
