import type { Queue } from '@corral/queue';

/** Sends hints that clusters or servers may need a pass. A hint that is lost is found by the sweep. */
export interface WakeUps {
  /** Never rejects. */
  wake(id: string): Promise<void>;
  wakeAll(ids: readonly string[]): Promise<void>;
  /** Takes the place of a look that was planned before. Never rejects. */
  lookAgain(id: string, inMs: number): Promise<void>;
}

const AT_ONCE = 16;
/** A look that comes a moment too early is one too many: due times are the database's, and delays are not. */
const LATE_MS = 20;

type Nudge = (id: string, options: NonNullable<Parameters<Queue['nudge']>[2]>) => Promise<void>;

const wakeUps = (nudge: Nudge): WakeUps => {
  const wake = (id: string) => nudge(id, { jobId: id });
  return {
    wake,
    wakeAll: (ids) => eachOf(ids, wake),
    // With an id of its own: it must not put off a wake-up that came meanwhile.
    lookAgain: (id, inMs) =>
      nudge(id, { jobId: `${id}-timer`, delayMs: Math.max(0, Math.ceil(inMs)) + LATE_MS, delayed: 'replace' }),
  };
};

export const clusterWakeUps = (queue: Pick<Queue, 'nudge'>): WakeUps =>
  wakeUps((clusterId, options) => queue.nudge('reconcile-cluster', { clusterId }, options));

export const serverWakeUps = (queue: Pick<Queue, 'nudge'>): WakeUps =>
  wakeUps((serverId, options) => queue.nudge('reconcile-server', { serverId }, options));

/** A few at a time: one by one would be slow, and all at once a burst. */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lanes = Array.from({ length: Math.min(AT_ONCE, items.length) }, async () => {
    for (const item of left) await work(item);
  });
  await Promise.all(lanes);
}
