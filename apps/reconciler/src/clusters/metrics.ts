import type { ClusterId } from '@corral/contracts';
import type { Metrics } from '@corral/service';
import type { GardenGate, GardenReport } from '../garden/gate.js';
import type { LeaseStore } from '../loop/lease.js';
import { readGauge } from '../loop/metrics.js';
import type { Failure } from './classify.js';

export type ClusterMetrics = ReturnType<typeof clusterMetrics>;

interface MetricSources {
  readonly leases: LeaseStore<ClusterId>;
  readonly gate: GardenGate;
}

/** Outcomes that alert operators, and what pauses the work on the garden. */
const alarming = ['failed_bug', 'failed_platform'] as const satisfies readonly `failed_${Failure['kind']}`[];
const pauseReasons = ['throttled', 'away', 'locked'] as const satisfies readonly GardenReport['kind'][];

/** Metrics of the loop over clusters. The age is read from Postgres, so every replica reports the same value. */
export function clusterMetrics(metrics: Metrics, { leases, gate }: MetricSources) {
  readGauge(metrics, {
    name: 'corral_reconcile_due_age_seconds',
    help: 'Age of the oldest due cluster, in seconds',
    read: () => leases.readDueAgeSeconds(),
  });
  metrics.gauge({
    name: 'corral_reconcile_places',
    help: 'Number of passes that this process may run concurrently; 0 while the garden is paused',
    collect() {
      const { places, pausedMs } = gate.state();
      this.set(pausedMs > 0 ? 0 : places);
    },
  });
  const passes = metrics.counter({
    name: 'corral_reconcile_passes_total',
    help: 'Passes over clusters, by outcome',
    labelNames: ['outcome'],
  });
  const pauses = metrics.counter({
    name: 'corral_reconcile_pauses_total',
    help: 'Pauses of all work on the garden, by reason',
    labelNames: ['reason'],
  });
  // Prometheus sees the first increase of a series only if the series was there before.
  for (const outcome of alarming) passes.inc({ outcome }, 0);
  for (const reason of pauseReasons) pauses.inc({ reason }, 0);
  return {
    passes,
    pauses,
    passSeconds: metrics.histogram({
      name: 'corral_reconcile_pass_duration_seconds',
      help: 'Duration of passes, by outcome',
      labelNames: ['outcome'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    }),
    sweepFound: metrics.counter({
      name: 'corral_reconcile_sweep_found_total',
      help: 'Due clusters found by the sweep: their wake-up was lost, or waits in a backlog',
    }),
    changes: metrics.counter({
      name: 'corral_reconcile_news_total',
      help: 'Clusters made due by a change in the garden, by source',
      labelNames: ['source'],
    }),
    watching: metrics.gauge({
      name: 'corral_reconcile_watching',
      help: '1 in the process whose watch on the garden is connected',
    }),
    verifications: metrics.counter({
      name: 'corral_connection_verifications_total',
      help: 'Verifications of provider tokens, by outcome',
      labelNames: ['outcome'],
    }),
    priceReadings: metrics.counter({
      name: 'corral_price_readings_total',
      help: 'Requests for the provider’s price list, by outcome',
      labelNames: ['outcome'],
    }),
    nodeCounts: metrics.counter({
      name: 'corral_node_counts_total',
      help: 'Node counts of clusters, by outcome',
      labelNames: ['outcome'],
    }),
    cleanups: metrics.counter({
      name: 'corral_garden_cleanups_total',
      help: 'Deletions of unused credentials in the garden, by outcome',
      labelNames: ['outcome'],
    }),
  };
}
