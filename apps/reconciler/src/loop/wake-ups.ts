import type { ClusterId, ServerId } from '@corral/contracts';
import type { Queue } from '@corral/queue';
import type { LeaseAnswer, LeasedId, LeaseStore } from './leases.js';
import type { PassesHere } from './passes-here.js';

/**
 * Hints that clusters or servers may need a pass, which this process follows itself while it has a place. The others are sent to
 * the queue. A hint that is lost is found by the sweep.
 */
export interface WakeUps<Id extends LeasedId> {
  /** Never rejects. */
  wake(id: Id): Promise<void>;
  wakeAll(ids: readonly Id[]): Promise<void>;
  /**
   * The plan of a pass, which replaces the plan of the pass before it in this process; null for no plan. It is kept in memory: the due
   * time is in the row, so when this process dies, the sweep finds the row.
   */
  wakeLater(id: Id, inMs: number | null): void;
  /** For a row that an event made due in a moment. No pass that read the row before the event replaces it. Never rejects. */
  wakeSoon(id: Id, inMs: number): Promise<void>;
}

const AT_ONCE = 16;
/** Due times are the database's and delays are not, so a pass slightly too early would be wasted. */
const LATE_MS = 20;
/** Timers of Node.js fire immediately when they are longer. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * A plan further ahead is a safety net: mostly another process has the passes after it, and knows better. So the row is asked first
 * whether it is due, with those whose plans end in the same second.
 */
const NET_MS = 5_000;
const TOGETHER_MS = 1_000;
/** A row that is due this soon counts as due, because clocks differ a little. The pass that is too early plans the rest. */
const EARLY_MS_MAX = 100;

type Nudge<Id> = (id: Id, options: NonNullable<Parameters<Queue['nudge']>[2]>) => Promise<void>;
/** Runs a pass in this process, if there is a place. */
type Taker<Id extends LeasedId> = Pick<PassesHere<Id>, 'take'>;
const nowhere = { take: () => false };
type Rows<Id extends LeasedId> = Pick<LeaseStore<Id>, 'findDueAmong'>;

const wakeUps = <Id extends LeasedId>(nudge: Nudge<Id>, rows: Rows<Id>, here: Taker<Id> = nowhere): WakeUps<Id> => {
  const wake = async (id: Id) => {
    if (!here.take(id)) await nudge(id, { jobId: id });
  };
  const wakeAll = (ids: readonly Id[]) => eachOf(ids, wake);
  const timers = new Map<Id, NodeJS.Timeout>();
  const wakeDue = inOneTurn<Id>(async (ids) => {
    const due = await rows.findDueAmong(ids, EARLY_MS_MAX).catch(() => ids);
    await wakeAll(due);
  });
  return {
    wake,
    wakeAll,
    wakeLater(id, inMs) {
      clearTimeout(timers.get(id));
      timers.delete(id);
      if (inMs === null) return;
      const delayMs = lateBy(inMs);
      const isNet = delayMs >= NET_MS;
      const fire = () => {
        timers.delete(id);
        if (isNet) wakeDue(id);
        else void wake(id);
      };
      timers.set(id, setTimeout(fire, Math.min(isNet ? toWholeSecond(delayMs) : delayMs, TIMER_MS_MAX)).unref());
    },
    wakeSoon: wakerSoon(nudge),
  };
};

/** Another job id, so that it does not delay an immediate one. */
const wakerSoon =
  <Id extends LeasedId>(nudge: Nudge<Id>): WakeUps<Id>['wakeSoon'] =>
  (id, inMs) =>
    nudge(id, { jobId: `${id}-soon`, delayMs: lateBy(inMs), delayed: 'replace' });

const lateBy = (inMs: number): number => Math.max(0, Math.ceil(inMs)) + LATE_MS;

function toWholeSecond(delayMs: number): number {
  const now = performance.now();
  return Math.ceil(Math.ceil((now + delayMs) / TOGETHER_MS) * TOGETHER_MS - now);
}

/** Collects what is asked for in one turn of the event loop, and works on it after that. */
function inOneTurn<T>(work: (items: readonly T[]) => Promise<void>): (item: T) => void {
  let collected: T[] = [];
  return (item) => {
    collected.push(item);
    if (collected.length > 1) return;
    setImmediate(() => {
      const items = collected;
      collected = [];
      void work(items);
    });
  };
}

export const clusterWakeUps = (
  queue: Pick<Queue, 'nudge'>,
  rows: Rows<ClusterId>,
  here?: Taker<ClusterId>,
): WakeUps<ClusterId> =>
  wakeUps((clusterId, options) => queue.nudge('reconcile-cluster', { clusterId }, options), rows, here);

const serverNudge =
  (queue: Pick<Queue, 'nudge'>): Nudge<ServerId> =>
  (serverId, options) =>
    queue.nudge('reconcile-server', { serverId }, options);

export const serverWakeUps = (queue: Pick<Queue, 'nudge'>, rows: Rows<ServerId>): WakeUps<ServerId> =>
  wakeUps(serverNudge(queue), rows);

export const serverWakerSoon = (queue: Pick<Queue, 'nudge'>): WakeUps<ServerId>['wakeSoon'] =>
  wakerSoon(serverNudge(queue));

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
 * @param delayMsMax longer delays are left to the sweep, so that this process need not keep them
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
    case 'not due': {
      const isKept = end.inMs !== null && end.inMs > 0 && end.inMs <= delayMsMax;
      wakeUps.wakeLater(id, isKept ? end.inMs : null);
      if (end.inMs === 0) await wakeUps.wake(id);
      return;
    }
    case 'stopped':
      wakeUps.wakeLater(id, null);
      // For another process: this one takes no more jobs.
      await wakeUps.wake(id);
      return;
    // The lease holder plans the next pass.
    case 'busy':
    case 'overtaken':
    case 'idle':
    case 'forgotten':
      wakeUps.wakeLater(id, null);
      return;
  }
}
