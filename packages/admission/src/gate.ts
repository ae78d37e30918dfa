import { backoffMs, spreadMs } from '@corral/service';

/**
 * What a report says about the service behind a gate:
 * `opens`: it works. `slows`: it wants fewer calls, and none for a while. `shuts`: it serves nobody. `shutsInARow`: this subject got no
 * answer, which says something about the service only if several subjects in a row get none.
 */
type GateEffect = 'opens' | 'slows' | 'shuts' | 'shutsInARow';

export interface GateReport<Kind extends string> {
  readonly kind: Kind;
  /** The time that the service asked for, of a kind that slows; null when it did not say. */
  readonly retryAfterMs?: number | null;
}

interface GateState {
  /** Maximum number of concurrent callers. */
  readonly places: number;
  readonly pausedMs: number;
}

export interface Gate<Report> {
  /**
   * Waits for a place without a time limit.
   *
   * @param key the subject of the work
   * @returns a function to call once with what was learned, or null for nothing
   * @throws the reason of the signal when it aborts first
   */
  enter(key: string, signal: AbortSignal): Promise<(report: Report | null) => void>;
  state(): GateState;
}

export interface GateOptions<Kind extends string> {
  /** Places while the service works. */
  readonly places: number;
  readonly effects: Readonly<Record<Kind, GateEffect>>;
  /** Monotonic clock in milliseconds. */
  readonly now?: (() => number) | undefined;
  /** A number in [0, 1]. */
  readonly random?: (() => number) | undefined;
  readonly onPause?:
    | ((pause: { readonly reason: Kind; readonly ms: number; readonly places: number }) => void)
    | undefined;
}

/** The service counts as away after this many different keys in a row without an answer. */
const IN_A_ROW = 3;
/** Pauses of a service that wants fewer calls and does not say when. */
const slowRange = { firstMs: 1_000, maxMs: 30_000 };
/** Pauses while the gate is shut. One call probes the service, and all callers need the result within seconds. */
const shutRange = { firstMs: 1_000, maxMs: 2_000 };
/** Maximum pause, whatever was asked for, because the cause may be fixed earlier. */
const RETRY_AFTER_MS_MAX = 120_000;

/**
 * Limits this process's work with a service across all subjects. Not every subject has to detect a problem of the service by itself: the
 * gate shuts for all, admits one caller, and opens for the others when that one succeeds.
 */
export function gate<Kind extends string>(options: GateOptions<Kind>): Gate<GateReport<Kind>> {
  const { places: placesMax, effects, now = () => performance.now(), random = Math.random, onPause } = options;
  const waiting = new Set<() => void>();
  let places = placesMax;
  let inside = 0;
  const withoutAnswer = new Set<string>();
  let pauses = 0;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const admitWaiting = (): void => {
    const pausedMs = pausedUntil - now();
    clearTimeout(timer);
    if (pausedMs > 0) {
      if (waiting.size > 0) timer = setTimeout(admitWaiting, Math.ceil(pausedMs));
      return;
    }
    for (const admit of waiting) {
      if (inside >= Math.floor(places)) return;
      waiting.delete(admit);
      inside += 1;
      admit();
    }
  };
  const pause = (reason: Kind, ms: number): void => {
    // Concurrent callers report the same problem, which counts once.
    if (pausedUntil > now()) return;
    const jittered = spreadMs(ms, random());
    pausedUntil = now() + jittered;
    pauses += 1;
    onPause?.({ reason, ms: Math.round(jittered), places: Math.floor(places) });
  };
  const shut = (reason: Kind): void => {
    places = 1;
    pause(reason, backoffMs(pauses, shutRange));
  };

  const learn = (key: string, { kind, retryAfterMs = null }: GateReport<Kind>): void => {
    switch (effects[kind]) {
      case 'opens':
        withoutAnswer.clear();
        if (pausedUntil > now()) return;
        pauses = 0;
        // One more place per full round of successes.
        places = Math.min(placesMax, places + 1 / places);
        return;
      case 'slows':
        if (pausedUntil <= now()) places = Math.max(1, places / 2);
        pause(kind, Math.min(RETRY_AFTER_MS_MAX, retryAfterMs ?? backoffMs(pauses, slowRange)));
        return;
      case 'shutsInARow':
        if (withoutAnswer.size < IN_A_ROW) withoutAnswer.add(key);
        if (withoutAnswer.size >= IN_A_ROW) shut(kind);
        return;
      case 'shuts':
        shut(kind);
        return;
    }
  };

  return {
    async enter(key, signal) {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const giveUp = () => {
          waiting.delete(admit);
          if (waiting.size === 0) clearTimeout(timer);
          reject(signal.reason);
        };
        const admit = () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        };
        signal.addEventListener('abort', giveUp, { once: true });
        waiting.add(admit);
        admitWaiting();
      });
      return (report) => {
        inside -= 1;
        if (report !== null) learn(key, report);
        admitWaiting();
      };
    },
    state: () => ({ places: Math.floor(places), pausedMs: Math.max(0, pausedUntil - now()) }),
  };
}
