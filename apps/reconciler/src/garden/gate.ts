import { GardenError } from '@corral/garden';
import { backoffMs, spreadMs } from '@corral/wire';
import { Stopped } from '../loop/run-bounds.js';

/** What a call revealed about the garden itself, independent of its subject. */
export type GardenReport =
  | { readonly kind: 'fine' }
  /** The garden throttles: no call before the Retry-After time, and fewer afterwards. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }
  /** No answer. A single cluster may cause this, but several in a row mean that the garden is unavailable. */
  | { readonly kind: 'away' }
  /** The garden denies access. */
  | { readonly kind: 'locked' };

/** What a failed call says about the garden itself. Null for errors that are not the garden's. Any definite answer is `fine`. */
export function gardenReportOf(error: unknown): GardenReport | null {
  if (!(error instanceof GardenError)) return null;
  switch (error.kind) {
    case 'throttled':
      return {
        kind: 'throttled',
        retryAfterMs: error.retryAfterSeconds === null ? null : error.retryAfterSeconds * 1_000,
      };
    case 'credentials':
      return { kind: 'locked' };
    case 'unreachable':
    case 'uncertain':
    case 'server_error':
    case 'unusable':
      return { kind: 'away' };
    default:
      return { kind: 'fine' };
  }
}

export interface GateState {
  /** Maximum number of concurrent callers. */
  readonly places: number;
  readonly pausedMs: number;
}

export interface GardenGate {
  /**
   * Waits for a place without a time limit.
   *
   * @param key the subject of the work, e.g. a cluster id
   * @returns a function to call once with what was learned, or null for nothing
   * @throws Stopped when the signal aborts first
   */
  enter(key: string, signal: AbortSignal): Promise<(report: GardenReport | null) => void>;
  state(): GateState;
}

export interface GateOptions {
  /** Places while the garden is healthy. */
  readonly places: number;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
  /** In [0, 1]. */
  readonly random?: () => number;
  readonly onPause?: (pause: {
    readonly reason: GardenReport['kind'];
    readonly ms: number;
    readonly places: number;
  }) => void;
}

/** The garden counts as unavailable after this many different keys in a row without an answer. */
const AWAY_MAX = 3;
/** Pauses after throttling without a Retry-After. */
const throttledRange = { firstMs: 1_000, maxMs: 30_000 };
/** Pauses while the garden is unavailable or denies access. One call probes it, and all callers need the result within seconds. */
const awayRange = { firstMs: 1_000, maxMs: 2_000 };
/** Maximum pause, whatever Retry-After says, because the cause may be fixed earlier. */
const RETRY_AFTER_MS_MAX = 120_000;

/**
 * Limits this process's work in the garden across all clusters. Not every cluster has to detect a garden problem by itself:
 * the gate closes for all, admits one caller, and opens for the others when that one succeeds.
 */
export function gardenGate(options: GateOptions): GardenGate {
  const { places: placesMax, now = () => performance.now(), random = Math.random, onPause } = options;
  const waiting = new Set<() => void>();
  let places = placesMax;
  let inside = 0;
  const withoutAnswer = new Set<string>();
  let pauses = 0;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const admitWaiting = (): void => {
    const pausedMs = pausedUntil - now();
    if (pausedMs > 0) {
      clearTimeout(timer);
      timer = setTimeout(admitWaiting, Math.ceil(pausedMs));
      return;
    }
    for (const admit of waiting) {
      if (inside >= Math.floor(places)) return;
      waiting.delete(admit);
      inside += 1;
      admit();
    }
  };
  const pause = (reason: GardenReport['kind'], ms: number): void => {
    // Concurrent callers report the same problem, which counts once.
    if (pausedUntil > now()) return;
    const jittered = spreadMs(ms, random());
    pausedUntil = now() + jittered;
    pauses += 1;
    onPause?.({ reason, ms: Math.round(jittered), places: Math.floor(places) });
  };
  const closeForOne = (reason: 'away' | 'locked'): void => {
    places = 1;
    pause(reason, backoffMs(pauses, awayRange));
  };

  const learn = (key: string, report: GardenReport): void => {
    switch (report.kind) {
      case 'fine':
        withoutAnswer.clear();
        if (pausedUntil > now()) return;
        pauses = 0;
        // One more place per full round of successes.
        places = Math.min(placesMax, places + 1 / places);
        return;
      case 'throttled':
        if (pausedUntil <= now()) places = Math.max(1, places / 2);
        pause(report.kind, Math.min(RETRY_AFTER_MS_MAX, report.retryAfterMs ?? backoffMs(pauses, throttledRange)));
        return;
      case 'away':
        if (withoutAnswer.size < AWAY_MAX) withoutAnswer.add(key);
        if (withoutAnswer.size >= AWAY_MAX) closeForOne(report.kind);
        return;
      case 'locked':
        closeForOne(report.kind);
        return;
    }
  };
  const leave = (key: string, report: GardenReport | null): void => {
    inside -= 1;
    if (report !== null) learn(key, report);
    admitWaiting();
  };

  return {
    async enter(key, signal) {
      if (signal.aborted) throw new Stopped();
      await new Promise<void>((resolve, reject) => {
        const stop = () => {
          waiting.delete(admit);
          if (waiting.size === 0) clearTimeout(timer);
          reject(new Stopped());
        };
        const admit = () => {
          signal.removeEventListener('abort', stop);
          resolve();
        };
        signal.addEventListener('abort', stop, { once: true });
        waiting.add(admit);
        admitWaiting();
      });
      return (report) => leave(key, report);
    },
    state: () => ({ places: Math.floor(places), pausedMs: Math.max(0, pausedUntil - now()) }),
  };
}
