import type { DemoEnds, SettlementStore, ZoneSyncStore } from '@corral/dns-data';
import type { Metrics } from '@corral/service';
import { readGauge } from '../loop/metrics.js';

export type DnsMetrics = ReturnType<typeof dnsMetrics>;

interface MetricSources {
  readonly zoneNames: readonly string[];
  readonly sync: ZoneSyncStore;
  readonly settlements: SettlementStore;
  readonly ends: DemoEnds;
}

/** Metrics of the DNS loops. The ages are read from Postgres, so every replica reports the same values. */
export function dnsMetrics(metrics: Metrics, { zoneNames, sync, settlements, ends }: MetricSources) {
  readGauge(metrics, {
    name: 'corral_dns_sync_age_seconds',
    help: 'Age of the last successful zone sync, or of the first attempt if none succeeded; the highest of all zones',
    read: async () => {
      const ages = await Promise.all(zoneNames.map((zoneName) => sync.readSyncAgeSeconds(zoneName)));
      const known = ages.filter((age) => age !== null);
      return known.length === zoneNames.length ? Math.max(...known) : null;
    },
  });
  readGauge(metrics, {
    name: 'corral_dns_demo_backlog_seconds',
    help: 'Time since the oldest demo with remaining records ended',
    read: () => ends.readBacklogSeconds(),
  });
  readGauge(metrics, {
    name: 'corral_dns_settle_backlog_seconds',
    help: 'Time since the oldest write with an unknown outcome became due',
    read: () => settlements.readBacklogSeconds(),
  });
  readGauge(metrics, {
    name: 'corral_dns_write_pending_age_seconds',
    help: 'Age of the oldest write without an outcome, also of one that is still being sent; 0 when there is none',
    read: () => settlements.readPendingSeconds(),
  });
  return {
    syncSeconds: metrics.histogram({
      name: 'corral_dns_sync_run_seconds',
      help: 'Duration of zone syncs',
      labelNames: ['outcome'],
      buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    }),
    settlements: metrics.counter({
      name: 'corral_dns_settlements_total',
      help: 'Settled writes with an unknown outcome, by outcome',
      labelNames: ['outcome'],
    }),
    lookUps: metrics.counter({
      name: 'corral_dns_action_lookups_total',
      help: 'Look-ups of actions without a polling client, by status',
      labelNames: ['outcome'],
    }),
    demosExpired: metrics.counter({
      name: 'corral_dns_demos_expired_total',
      help: 'Demos that ended because they expired',
    }),
    demoDeletions: metrics.counter({
      name: 'corral_dns_demo_deletions_total',
      help: 'Deletions of record sets of ended demos, by outcome',
      labelNames: ['outcome'],
    }),
    rechecks: metrics.counter({
      name: 'corral_dns_rechecks_total',
      help: 'Rechecks of record sets, by outcome',
      labelNames: ['outcome'],
    }),
  };
}
