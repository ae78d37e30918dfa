import type { DemoEnds } from '@corral/demos';
import type { SettlementStore, ZoneSyncStore } from '@corral/dns-mirror';
import type { Metrics } from '@corral/service';

export type DnsMetrics = ReturnType<typeof dnsMetrics>;

interface MetricSources {
  readonly zoneNames: readonly string[];
  readonly sync: Pick<ZoneSyncStore, 'readSyncAgeSeconds'>;
  readonly settlements: Pick<SettlementStore, 'readBacklogSeconds'>;
  readonly ends: Pick<DemoEnds, 'readBacklogSeconds'>;
}

/** What the DNS loops tell. The ages are read from Postgres, so every replica tells the same. */
export function dnsMetrics(metrics: Metrics, { zoneNames, sync, settlements, ends }: MetricSources) {
  metrics.gauge({
    name: 'corral_dns_sync_age_seconds',
    help: 'Time since the last zone sync that succeeded, of the zone where that is longest ago; absent while none did',
    async collect() {
      await setOrForget(this, async () => {
        const ages = await Promise.all(zoneNames.map((zoneName) => sync.readSyncAgeSeconds(zoneName)));
        const known = ages.filter((age) => age !== null);
        return known.length === zoneNames.length ? Math.max(...known) : null;
      });
    },
  });
  metrics.gauge({
    name: 'corral_dns_demo_backlog_seconds',
    help: 'For how long the oldest demo is over of which something is left to do',
    async collect() {
      await setOrForget(this, () => ends.readBacklogSeconds());
    },
  });
  metrics.gauge({
    name: 'corral_dns_settle_backlog_seconds',
    help: 'For how long the oldest write of unknown outcome has been due',
    async collect() {
      await setOrForget(this, () => settlements.readBacklogSeconds());
    },
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
      help: 'Writes of unknown outcome that were taken up, by what came of it',
      labelNames: ['outcome'],
    }),
    lookUps: metrics.counter({
      name: 'corral_dns_action_lookups_total',
      help: 'Actions that no client asked for, by what the upstream told of them',
      labelNames: ['outcome'],
    }),
    demosExpired: metrics.counter({
      name: 'corral_dns_demos_expired_total',
      help: 'Demos that ended because their time was over',
    }),
    demoDeletions: metrics.counter({
      name: 'corral_dns_demo_deletions_total',
      help: 'Record sets of ended demos that were taken up, by what came of it',
      labelNames: ['outcome'],
    }),
    rechecks: metrics.counter({
      name: 'corral_dns_rechecks_total',
      help: 'Second looks at record sets, by what they found',
      labelNames: ['outcome'],
    }),
  };
}

/** Without the database there is no value: none is better than an old one, and the other metrics are still told. */
async function setOrForget(gauge: { set(value: number): void; remove(): void }, read: () => Promise<number | null>) {
  gauge.remove(); // `reset` would leave a 0
  const value = await read().catch(() => null);
  if (value !== null) gauge.set(value);
}
