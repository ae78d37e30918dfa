import { type Pool, retentionRules, type Swept, sweepRetention } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { withSignal } from '../loop/run-bounds.js';
import { countOperations, operationEndMetrics } from './count-operations.js';
import { openOperationMetrics } from './open-operations.js';
import { tableSizeMetrics, tableSizes } from './table-sizes.js';

export interface RetentionWorkerDeps {
  readonly settings: {
    /** Retention of the audit log in days. */
    readonly auditDays: number;
  };
  readonly pool: Pool;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface RetentionWorkers {
  sweep(signal: AbortSignal): Promise<Swept>;
  readonly handlers: Pick<JobHandlers<'retention'>, 'sweep-retention' | 'count-operations'>;
}

const SIZES_INTERVAL_MS = 60_000;

/** Wires the sweep over rows past their retention, and the count of operations that end. */
export function buildRetentionWorkers({ settings, pool, metrics, log }: RetentionWorkerDeps): RetentionWorkers {
  const swept = metrics.counter({
    name: 'corral_retention_rows_total',
    help: 'Rows removed or shortened after their retention, by rule',
    labelNames: ['rule'],
  });
  openOperationMetrics(metrics, pool);
  operationEndMetrics(metrics, pool);
  tableSizeMetrics(metrics, tableSizes(pool, { everyMs: SIZES_INTERVAL_MS, now: () => performance.now() }));
  const sweep = sweepRetention({
    pool,
    rules: retentionRules(settings),
    log,
    onSwept: (rule, rows) => swept.inc({ rule }, rows),
  });
  return {
    sweep,
    handlers: { 'sweep-retention': withSignal(sweep), 'count-operations': withSignal(countOperations(pool)) },
  };
}
