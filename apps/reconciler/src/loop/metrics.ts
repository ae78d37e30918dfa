import { type Prisma, readClock } from '@corral/database';
import type { Metrics } from '@corral/service';

/**
 * Sets a gauge that is read from the database. Without the database there is no value: a missing value is better than a stale
 * one, and other metrics stay available.
 */
async function setOrForget(
  gauge: { set(value: number): void; remove(): void },
  read: () => Promise<number | null>,
): Promise<void> {
  gauge.remove(); // `reset` would leave a 0
  const value = await read().catch(() => null);
  if (value !== null) gauge.set(value);
}

/** A gauge without labels that is read from the database at each scrape. */
export const readGauge = (
  metrics: Metrics,
  { read, ...about }: { name: string; help: string; read: () => Promise<number | null> },
) =>
  metrics.gauge({
    ...about,
    async collect() {
      await setOrForget(this, read);
    },
  });

/** Seconds since a time by the database's clock. */
export const ageOf = async (prisma: Prisma, since: Date): Promise<number> =>
  ((await readClock(prisma)).getTime() - since.getTime()) / 1_000;

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
