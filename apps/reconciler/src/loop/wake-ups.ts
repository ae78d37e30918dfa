import type { ClusterId, ServerId } from '@corral/contracts';
import type { Queue } from '@corral/queue';
import type { LeaseAnswer, LeasedId } from './leases.js';

/** Hints that clusters or servers may need a pass, as jobs that any process takes. A hint that is lost is found by the sweep. */
export interface WakeUps<Id extends LeasedId> {
  /** Never rejects. */
  wake(id: Id): Promise<void>;
  wakeAll(ids: readonly Id[]): Promise<void>;
  /** The plan of a pass, which replaces the plan of an earlier one. Never rejects. */
  wakeLater(id: Id, inMs: number): Promise<void>;
  /** For a row that an event made due in a moment. No pass that read the row before the event replaces it. Never rejects. */
  wakeSoon(id: Id, inMs: number): Promise<void>;
}

const AT_ONCE = 16;
/** Due times are the database's and delays are not, so a pass slightly too early would be wasted. */
const LATE_MS = 20;

type Nudge<Id> = (id: Id, options: NonNullable<Parameters<Queue['nudge']>[2]>) => Promise<void>;

function wakeUps<Id extends LeasedId>(nudge: Nudge<Id>): WakeUps<Id> {
  const wake = (id: Id) => nudge(id, { jobId: id });
  // A delayed job has an id of its own, so that it delays no immediate one.
  const wakeIn = (id: Id, kind: 'soon' | 'later', inMs: number) =>
    nudge(id, { jobId: `${id}-${kind}`, delayMs: Math.max(0, Math.ceil(inMs)) + LATE_MS, delayed: 'replace' });
  return {
    wake,
    wakeAll: (ids) => eachOf(ids, wake),
    wakeLater: (id, inMs) => wakeIn(id, 'later', inMs),
    wakeSoon: (id, inMs) => wakeIn(id, 'soon', inMs),
  };
}

export const clusterWakeUps = (queue: Pick<Queue, 'nudge'>): WakeUps<ClusterId> =>
  wakeUps((clusterId, options) => queue.nudge('reconcile-cluster', { clusterId }, options));

export const serverWakeUps = (queue: Pick<Queue, 'nudge'>): WakeUps<ServerId> =>
  wakeUps((serverId, options) => queue.nudge('reconcile-server', { serverId }, options));

/** Works with limited concurrency. */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lanes = Array.from({ length: Math.min(AT_ONCE, items.length) }, async () => {
    for (const item of left) await work(item);
  });
  await Promise.all(lanes);
}

/** How a pass over a row ended. `inMs`: milliseconds until the next pass, or null for none before the next event. */
export type PassOutcome =
  | Exclude<LeaseAnswer, { kind: 'taken' }>
  | { readonly kind: 'finished'; readonly inMs: number | null }
  /** The process is shutting down. The lease was released. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'forgotten' };

/**
 * Sends the hint for the next pass, as requested by the last one.
 *
 * @param delayMsMax longer delays are left to the sweep, which finds the row by its due time
 */
export async function planNext<Id extends LeasedId>(
  wakeUps: WakeUps<Id>,
  id: Id,
  end: PassOutcome | { readonly kind: 'failed'; readonly inMs: number | null },
  { delayMsMax = Number.POSITIVE_INFINITY }: { readonly delayMsMax?: number } = {},
): Promise<void> {
  switch (end.kind) {
    case 'finished':
    case 'failed':
    case 'not due':
      if (end.inMs === 0) await wakeUps.wake(id);
      else if (end.inMs !== null && end.inMs <= delayMsMax) await wakeUps.wakeLater(id, end.inMs);
      return;
    case 'stopped':
      // For another process: this one takes no more jobs.
      await wakeUps.wake(id);
      return;
    // The lease holder plans the next pass.
    case 'busy':
    case 'overtaken':
    case 'idle':
    case 'forgotten':
      return;
  }
}
