import type { Pool } from '@corral/database';
import type { JobHandlers } from '@corral/queue';
import type { Metrics } from '@corral/service';
import { withSignal } from '../loop/run-bounds.js';
import { counterStore } from './counter-store.js';
import { recordUsage } from './record-usage.js';
import { sampleStore } from './sample-store.js';

export interface UsageWorkerDeps {
  readonly settings: {
    /** The quota of DNS records per team. */
    readonly recordsLimit: number;
  };
  readonly pool: Pool;
  readonly metrics: Metrics;
}

export interface UsageWorkers {
  record(signal: AbortSignal): Promise<number>;
  readonly handlers: Pick<JobHandlers<'retention'>, 'record-usage'>;
}

/** Wires the recording of usage. */
export function buildUsageWorkers({ settings, pool, metrics }: UsageWorkerDeps): UsageWorkers {
  const recorded = metrics.counter({
    name: 'corral_usage_recorded_total',
    help: 'Teams whose usage was recorded. Each run records all teams',
  });
  const samples = sampleStore(pool);
  const record = recordUsage({
    counters: counterStore(pool),
    samples,
    now: samples.readClock,
    recordsLimit: settings.recordsLimit,
    onRecorded: (teams) => recorded.inc(teams),
  });
  return {
    record,
    handlers: { 'record-usage': withSignal(record) },
  };
}
