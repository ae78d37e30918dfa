import { readFileSync } from 'node:fs';
import { connectGarden, type Shoot } from '@corral/garden';
import { silentLog } from '@corral/service';
import { quantile } from './arrivals.js';

/** Observes when declared changes arrive in the garden. */
export interface GardenWatch {
  /** Notes that a change was accepted. @param answer the body of its answer */
  accepted(answer: string): void;
  /** @returns how long changes took from their answer to the garden, p50, p95 and p99 in ms, and how many were not seen */
  end(): Promise<{ p50Ms: number; p95Ms: number; p99Ms: number; missing: number }>;
}

/** Tells which change of which cluster was applied last, in a Shoot and in an answer. */
const changeIn = ({ metadata: { labels, annotations } }: Shoot): string =>
  `${labels['corral.dev/cluster-id']}/${annotations['corral.dev/generation']}`;

export async function watchGarden(kubeconfigPath: string): Promise<GardenWatch> {
  const garden = connectGarden({
    kubeconfigText: readFileSync(kubeconfigPath, 'utf8'),
    cloudProfileName: 'hcloud',
    log: silentLog,
  });
  const [seenAt, acceptedAt] = [new Map<string, number>(), new Map<string, number>()];
  const ending = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((opened) => {
    ended = garden.watchShoots({
      labelSelector: 'corral.dev/managed=true',
      onPage: () => undefined,
      onListed: () => undefined,
      onEvents(events) {
        for (const change of events.map(({ shoot }) => changeIn(shoot))) {
          if (!seenAt.has(change)) seenAt.set(change, performance.now());
        }
      },
      onState({ phase }) {
        if (phase === 'watching') opened();
      },
      relistEveryMs: 3_600_000,
      signal: ending.signal,
    });
  });
  return {
    accepted(answer) {
      const { metadata } = (JSON.parse(answer) as { resource: { metadata: { id: string; generation: number } } })
        .resource;
      acceptedAt.set(`${metadata.id}/${metadata.generation}`, performance.now());
    },
    async end() {
      ending.abort();
      await ended;
      await garden.close();
      // A change may even arrive before the client has read its answer.
      const waits = [...acceptedAt].flatMap(([change, at]) => {
        const seen = seenAt.get(change);
        return seen === undefined ? [] : [Math.max(0, seen - at)];
      });
      const [p50Ms, p95Ms, p99Ms] = [quantile(waits, 0.5), quantile(waits, 0.95), quantile(waits, 0.99)];
      return { p50Ms, p95Ms, p99Ms, missing: acceptedAt.size - waits.length };
    },
  };
}
