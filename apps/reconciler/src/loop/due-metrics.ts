import type { Metrics } from '@corral/service';
import { setOrForget } from './set-or-forget.js';

interface DueCounts {
  readonly countDue: () => Promise<number>;
}

/**
 * The amount of due work, by kind: the metric to scale replicas on. It is read from Postgres, so it is right while Redis has the
 * queue or is unavailable, and every replica reports the same value.
 */
export function dueMetrics(metrics: Metrics, kinds: { readonly [kind: string]: DueCounts | undefined }): void {
  metrics.gauge({
    name: 'corral_reconcile_due',
    help: 'Number of clusters and adopted servers that are due or have a running pass, without those that wait for the garden',
    labelNames: ['kind'],
    async collect() {
      await Promise.all(
        Object.entries(kinds).map(async ([kind, counts]) => {
          if (counts === undefined) return;
          const labelled = {
            set: (value: number) => this.set({ kind }, value),
            remove: () => this.remove({ kind }),
          };
          await setOrForget(labelled, counts.countDue);
        }),
      );
    },
  });
}
