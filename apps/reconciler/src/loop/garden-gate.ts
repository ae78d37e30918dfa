import { GardenError } from '@corral/garden';
import { backoffMs, spreadMs } from './backoff.js';
import { Stopped } from './unless-stopped.js';

/** What work learnt about the garden, whatever it was about. */
export type GardenWord =
  | { readonly kind: 'fine' }
  /** It asks for fewer calls, and for none until then. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }
  /** It does not answer. That may be a matter of one cluster; when several meet it, it is the garden. */
  | { readonly kind: 'away' }
  /** It does not let us in. */
  | { readonly kind: 'locked' };

/** What a failure of a call says about the garden as such; null for one of something else. One that it answered, it is well with. */
export function gardenWordOf(error: unknown): GardenWord | null {
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
  /** How many may work at the same time. */
  readonly places: number;
  readonly pausedMs: number;
}

export interface GardenGate {
  /**
   * Waits for a place, as long as it takes.
   *
   * @param key what the work is about
   * @returns what has to be called once, with what was learnt; null when nothing was
   * @throws Stopped when the signal comes first
   */
  enter(key: string, signal: AbortSignal): Promise<(word: GardenWord | null) => void>;
  state(): GateState;
}

export interface GateOptions {
  /** Places while the garden is well. */
  readonly places: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** From 0 to 1. */
  readonly random?: () => number;
  readonly onPause?: (pause: {
    readonly word: GardenWord['kind'];
    readonly ms: number;
    readonly places: number;
  }) => void;
}

/** So many that met no answer, and none that met one between them, are no coincidence. */
const AWAY_MAX = 3;
/** Of a garden that asks for fewer calls and does not say when. */
const throttledRange = { firstMs: 1_000, maxMs: 30_000 };
/** Whether a garden is back, or lets us in again, one call tells; and all who wait are to know of it within seconds. */
const awayRange = { firstMs: 1_000, maxMs: 2_000 };
/** However long a garden asks us to stay away, somebody may have mended it meanwhile. */
const RETRY_AFTER_MS_MAX = 120_000;

/**
 * How hard this process works on the garden, for all clusters together. What is wrong with the garden must not be found
 * out by each cluster anew: the gate closes for all, opens for one, and for the others when that one was well.
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
  const pause = (word: GardenWord['kind'], ms: number): void => {
    // Those who were inside together learn of the same trouble: it counts once.
    if (pausedUntil > now()) return;
    const jittered = spreadMs(ms, random());
    pausedUntil = now() + jittered;
    pauses += 1;
    onPause?.({ word, ms: Math.round(jittered), places: Math.floor(places) });
  };
  const closeForOne = (word: 'away' | 'locked'): void => {
    places = 1;
    pause(word, backoffMs(pauses, awayRange));
  };

  const learn = (key: string, word: GardenWord): void => {
    switch (word.kind) {
      case 'fine':
        withoutAnswer.clear();
        if (pausedUntil > now()) return;
        pauses = 0;
        // One more place for each round of all of them.
        places = Math.min(placesMax, places + 1 / places);
        return;
      case 'throttled':
        if (pausedUntil <= now()) places = Math.max(1, places / 2);
        pause(word.kind, Math.min(RETRY_AFTER_MS_MAX, word.retryAfterMs ?? backoffMs(pauses, throttledRange)));
        return;
      case 'away':
        if (withoutAnswer.size < AWAY_MAX) withoutAnswer.add(key);
        if (withoutAnswer.size >= AWAY_MAX) closeForOne(word.kind);
        return;
      case 'locked':
        closeForOne(word.kind);
        return;
    }
  };
  const leave = (key: string, word: GardenWord | null): void => {
    inside -= 1;
    if (word !== null) learn(key, word);
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
      return (word) => leave(key, word);
    },
    state: () => ({ places: Math.floor(places), pausedMs: Math.max(0, pausedUntil - now()) }),
  };
}
