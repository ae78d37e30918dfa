import type { Pool } from '@corral/database';
import type { JobHandlers, Queue } from '@corral/queue';
import type { Log, Metrics } from '@corral/service';
import { oneAtATime } from '../loop/one-at-a-time.js';
import { retentionRules } from './rules.js';
import { type Swept, sweepRetention } from './sweep-retention.js';
import { tableSizeMetrics, tableSizes } from './table-sizes.js';

export interface RetentionWorkerDeps {
  readonly settings: {
    /** For how many days the audit log is kept. */
    readonly auditDays: number;
  };
  readonly pool: Pool;
  readonly queue: Queue;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface RetentionWorkers {
  sweep(signal: AbortSignal): Promise<Swept>;
  readonly handlers: JobHandlers<'retention'>;
  readonly concurrency: number;
  /** Sees to it that there are jobs. */
  schedule(): void;
}

const INTERVAL_MS = 600_000;
const SIZES_INTERVAL_MS = 60_000;

/** Wires the sweep over rows that nobody will ask for any more. Does nothing until `schedule`. */
export function buildRetentionWorkers({ settings, pool, queue, metrics, log }: RetentionWorkerDeps): RetentionWorkers {
  const swept = metrics.counter({
    name: 'corral_retention_rows_total',
    help: 'Rows whose time was over, by the rule that took them',
    labelNames: ['rule'],
  });
  tableSizeMetrics(metrics, tableSizes(pool, { everyMs: SIZES_INTERVAL_MS, now: () => performance.now() }));
  const sweep = sweepRetention({
    ...{ pool, rules: retentionRules(settings), log },
    onSwept: (rule, rows) => swept.inc({ rule }, rows),
  });
  return {
    sweep,
    handlers: { 'sweep-retention': oneAtATime(sweep) },
    // One runs, and one more that was asked for meanwhile ends at once.
    concurrency: 2,
    schedule: () => queue.schedule('sweep-retention', {}, INTERVAL_MS),
  };
}
