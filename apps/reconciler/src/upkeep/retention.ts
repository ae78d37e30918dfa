import { type Pool, retentionRules, sweepRetention } from '@corral/database';
import type { Metrics } from '@corral/service';
import { withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { countOperations, openOperationMetrics, operationEndMetrics } from './operations.js';
import { operatorMetrics } from './operator-metrics.js';

export interface RetentionOptions {
  readonly settings: {
    /** Retention of the audit log in days. */
    readonly auditDays: number;
  };
}

/** Wires the sweep over rows past their retention, and the count of operations that end. */
export function buildRetentionWorkers(services: Services, { settings }: RetentionOptions) {
  const { pool, prisma, metrics, log } = services;
  const swept = metrics.counter({
    name: 'corral_retention_rows_total',
    help: 'Rows removed or shortened after their retention, by rule',
    labelNames: ['rule'],
  });
  openOperationMetrics(metrics, prisma);
  operationEndMetrics(metrics, prisma);
  operatorMetrics(metrics, prisma);
  tableSizeMetrics(metrics, pool);
  const sweep = sweepRetention({
    pool,
    rules: retentionRules(settings),
    log,
    onSwept: (rule, rows) => swept.inc({ rule }, rows),
  });
  return { handlers: { 'sweep-retention': withSignal(sweep), 'count-operations': withSignal(countOperations(pool)) } };
}

interface TableSize {
  readonly table: string;
  /** Postgres's latest estimate, which needs no count. Null when there is none. */
  readonly rows: number | null;
  /** Including indexes and out-of-line storage. */
  readonly bytes: number;
}

const SIZES = `
  SELECT relname AS table, nullif(reltuples, -1)::float8 AS rows, pg_total_relation_size(oid)::float8 AS bytes
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> '_prisma_migrations'`;

/** Every replica reports the same values: sum over tables, not over processes. */
export function tableSizeMetrics(metrics: Metrics, pool: Pool): void {
  const collectFrom = (read: (size: TableSize) => number | null) =>
    async function collect(this: Settable): Promise<void> {
      // Without the database there is no value. A missing value is better than a stale one.
      const sizes = await pool.query<TableSize>(SIZES).catch(() => null);
      this.reset();
      for (const size of sizes?.rows ?? []) {
        const value = read(size);
        if (value !== null) this.set({ table: size.table }, value);
      }
    };
  metrics.gauge({
    name: 'corral_table_rows',
    help: 'Estimated number of rows in a table',
    labelNames: ['table'],
    collect: collectFrom(({ rows }) => rows),
  });
  metrics.gauge({
    name: 'corral_table_bytes',
    help: 'Size of a table on disk in bytes, with indexes and out-of-line storage',
    labelNames: ['table'],
    collect: collectFrom(({ bytes }) => bytes),
  });
}

interface Settable {
  reset(): void;
  set(labels: { table: string }, value: number): void;
}
