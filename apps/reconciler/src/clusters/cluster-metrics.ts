import type { Metrics } from '@corral/service';
import type { GardenGate } from '../loop/garden-gate.js';
import type { LeaseStore } from '../loop/lease-store.js';

export type ClusterMetrics = ReturnType<typeof clusterMetrics>;

interface MetricSources {
  readonly leases: Pick<LeaseStore, 'readDueAgeSeconds'>;
  readonly gate: Pick<GardenGate, 'state'>;
}

/** What the loop over clusters tells. The age is read from Postgres, so every replica tells the same. */
export function clusterMetrics(metrics: Metrics, { leases, gate }: MetricSources) {
  metrics.gauge({
    name: 'corral_reconcile_due_age_seconds',
    help: 'For how long the cluster that has been due longest has been waiting',
    async collect() {
      this.remove(); // `reset` would leave a 0
      // Without the database there is no value: none is better than an old one.
      const age = await leases.readDueAgeSeconds().catch(() => null);
      if (age !== null) this.set(age);
    },
  });
  metrics.gauge({
    name: 'corral_reconcile_places',
    help: 'How many passes this process runs at the same time; 0 while the garden is left alone',
    collect() {
      const { places, pausedMs } = gate.state();
      this.set(pausedMs > 0 ? 0 : places);
    },
  });
  return {
    passes: metrics.counter({
      name: 'corral_reconcile_passes_total',
      help: 'Wake-ups of clusters, by what came of them',
      labelNames: ['outcome'],
    }),
    passSeconds: metrics.histogram({
      name: 'corral_reconcile_pass_duration_seconds',
      help: 'Duration of passes, by how they ended',
      labelNames: ['outcome'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    }),
    pauses: metrics.counter({
      name: 'corral_reconcile_pauses_total',
      help: 'Times that all work on the garden stood still, by why',
      labelNames: ['word'],
    }),
    sweepFound: metrics.counter({
      name: 'corral_reconcile_sweep_found_total',
      help: 'Clusters that were due and that only the sweep found: their wake-up was lost',
    }),
    news: metrics.counter({
      name: 'corral_reconcile_news_total',
      help: 'Clusters that were made due by what the garden showed, by how it was seen',
      labelNames: ['source'],
    }),
    watching: metrics.gauge({
      name: 'corral_reconcile_watching',
      help: '1 in the process that has the watch on the garden and hears from it',
    }),
    verifications: metrics.counter({
      name: 'corral_connection_verifications_total',
      help: 'Provider tokens that the provider was asked about, by its answer',
      labelNames: ['outcome'],
    }),
    priceReadings: metrics.counter({
      name: 'corral_price_readings_total',
      help: 'Price lists that the provider was asked for, by what came of it',
      labelNames: ['outcome'],
    }),
    nodeCounts: metrics.counter({
      name: 'corral_node_counts_total',
      help: 'Clusters whose nodes were to be counted, by what came of it',
      labelNames: ['outcome'],
    }),
    cleanups: metrics.counter({
      name: 'corral_garden_cleanups_total',
      help: 'Deletions of credentials that nobody wants any more, by what came of them',
      labelNames: ['outcome'],
    }),
  };
}
