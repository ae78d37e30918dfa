import type { SettlementStore, ZoneSyncStore } from '@corral/dns-mirror';
import type { Metrics } from '@corral/service';

export type DnsMetrics = ReturnType<typeof dnsMetrics>;

interface MetricSources {
  readonly zoneName: string;
  readonly sync: Pick<ZoneSyncStore, 'readSyncAgeSeconds'>;
  readonly settlements: Pick<SettlementStore, 'readBacklogSeconds'>;
}

/** What the DNS loops tell. The two ages are read from Postgres, so every replica tells the same. */
export function dnsMetrics(metrics: Metrics, { zoneName, sync, settlements }: MetricSources) {
  metrics.gauge({
    name: 'corral_dns_sync_age_seconds',
    help: 'Time since the last zone sync that succeeded; absent while none ever did',
    async collect() {
      await setOrForget(this, () => sync.readSyncAgeSeconds(zoneName));
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
    drift: metrics.counter({
      name: 'corral_dns_drift_total',
      help: 'Record sets that a zone sync found changed by somebody else',
      labelNames: ['kind'],
    }),
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
