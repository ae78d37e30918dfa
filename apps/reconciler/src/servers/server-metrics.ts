import type { Metrics } from '@corral/service';
import type { LeaseStore } from '../loop/lease-store.js';

export type ServerMetrics = ReturnType<typeof serverMetrics>;

/** What the loop over adopted servers tells. The age is read from Postgres, so every replica tells the same. */
export function serverMetrics(metrics: Metrics, { leases }: { leases: Pick<LeaseStore, 'readDueAgeSeconds'> }) {
  metrics.gauge({
    name: 'corral_server_due_age_seconds',
    help: 'For how long the adopted server that has been due longest has been waiting',
    async collect() {
      this.remove(); // `reset` would leave a 0
      // Without the database there is no value: none is better than an old one.
      const age = await leases.readDueAgeSeconds().catch(() => null);
      if (age !== null) this.set(age);
    },
  });
  return {
    passes: metrics.counter({
      name: 'corral_server_passes_total',
      help: 'Wake-ups of adopted servers, by what came of them',
      labelNames: ['outcome'],
    }),
  };
}
