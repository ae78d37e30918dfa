import type { Pool } from '@corral/database';
import type { JobHandlers, Queue } from '@corral/queue';
import type { Metrics } from '@corral/service';
import { oneAtATime } from '../loop/run-bounds.js';
import { counterStore } from './counter-store.js';
import { recordUsage } from './record-usage.js';
import { sampleStore } from './sample-store.js';

export interface UsageWorkerDeps {
  readonly settings: {
    /** The quota of DNS records per team. */
    readonly recordsLimit: number;
  };
  readonly pool: Pool;
  readonly queue: Queue;
  readonly metrics: Metrics;
}

export interface UsageWorkers {
  record(signal: AbortSignal): Promise<number>;
  readonly handlers: Pick<JobHandlers<'retention'>, 'record-usage'>;
  /** Schedules the recurring job. */
  schedule(): void;
}

const INTERVAL_MS = 300_000;

/** Wires the recording of usage. Has no effect until `schedule`. */
export function buildUsageWorkers({ settings, pool, queue, metrics }: UsageWorkerDeps): UsageWorkers {
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
    handlers: { 'record-usage': oneAtATime(record) },
    schedule: () => queue.schedule('record-usage', {}, INTERVAL_MS),
  };
}
