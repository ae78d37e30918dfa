import type { Pool } from '@corral/database';
import { parentOf } from '../load/cpu-shares.js';
import { cpuSecondsOf } from '../sizing/meter.js';

/** What something has cost since a meter was started. */
export interface Cost {
  readonly seconds: number;
  /** Statements that clients sent, those of this benchmark excluded. */
  readonly statements: number;
  /** Durable or not. */
  readonly commits: number;
  /** CPU time in seconds by part, Postgres included. */
  readonly cpu: Readonly<Record<string, number>>;
}

export interface CostMeterOptions {
  readonly pool: Pool;
  /** Process IDs by the name of the part. */
  readonly pids: Readonly<Record<string, readonly number[]>>;
}

/** Statements of the benchmark itself have this comment, and are not counted. */
export const uncounted = '/* bench */';

/** Starts to measure. @returns a function that states what was used since */
export async function costMeter({ pool, pids }: CostMeterOptions): Promise<() => Promise<Cost>> {
  const { rows } = await pool.query<{ pid: number }>(`SELECT pg_backend_pid() AS pid ${uncounted}`);
  const parts = { ...pids, Postgres: [parentOf((rows[0] as { pid: number }).pid)] };
  const readCpu = () => Object.entries(parts).map(([name, mains]) => [name, sumOf(mains.map(cpuSecondsOf))] as const);
  const before = { cpu: new Map(readCpu()), counts: await readCounts(pool), at: performance.now() };
  return async () => {
    const counts = await readCounts(pool);
    return {
      seconds: (performance.now() - before.at) / 1_000,
      statements: counts.statements - before.counts.statements,
      commits: counts.commits - before.counts.commits,
      cpu: Object.fromEntries(readCpu().map(([name, now]) => [name, now - (before.cpu.get(name) ?? 0)])),
    };
  };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

async function readCounts(pool: Pool): Promise<{ statements: number; commits: number }> {
  const { rows } = await pool.query<{ statements: number; commits: number }>(
    `SELECT (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements WHERE query NOT LIKE '%${uncounted}%') AS statements,
            xact_commit::float8 AS commits
     FROM pg_stat_database WHERE datname = current_database() ${uncounted}`,
  );
  return rows[0] as { statements: number; commits: number };
}
