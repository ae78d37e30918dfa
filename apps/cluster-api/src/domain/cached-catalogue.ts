import type { CloudProfile } from '@corral/garden';
import { Problem } from '../problem.js';

/** What the garden offers, or why nobody knows. */
export type CatalogueAtHand =
  | { readonly profile: CloudProfile; readonly problem: null }
  /** `problem`: `upstream_unavailable`, for those who need one. */
  | { readonly profile: null; readonly problem: Problem };

export interface Catalogue {
  /** The one that was read lately, else that which is read now. Never rejects: most changes need none. */
  atHand(): Promise<CatalogueAtHand>;
}

export interface CachedCatalogueDeps {
  /** Bounded in time by whoever passes it in. */
  readonly read: () => Promise<CloudProfile>;
  /** In ms. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly onReadError: (error: unknown) => void;
}

const FRESH_MS = 60_000;
/** How long the garden is left alone after the first failure; doubles with each one in a row. */
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 60_000;

/**
 * Keeps the catalogue for a minute. Many who ask at once share one call, and while the garden is away the last one
 * serves: the garden itself has the last word on every change. After a call that failed nobody makes another one before a
 * delay, which grows, and differs between replicas.
 */
export function cachedCatalogue({ read, now, random, onReadError }: CachedCatalogueDeps): Catalogue {
  let held: CloudProfile | null = null;
  let cause: unknown;
  let failures = 0;
  let nextReadAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;

  const refresh = async (): Promise<void> => {
    try {
      held = await read();
      failures = 0;
      nextReadAt = now() + FRESH_MS;
    } catch (error) {
      onReadError(error);
      cause = error;
      nextReadAt = now() + Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** failures) * (1 + random()) * 0.5;
      failures += 1;
    }
  };

  return {
    async atHand() {
      if (reading === null && now() >= nextReadAt) {
        reading = refresh().finally(() => {
          reading = null;
        });
      }
      await reading;
      return held === null
        ? { profile: null, problem: notRead(cause, nextReadAt - now()) }
        : { profile: held, problem: null };
    },
  };
}

const notRead = (cause: unknown, waitMs: number): Problem =>
  new Problem('upstream_unavailable', 'The garden’s catalogue is temporarily unavailable. Try again in a moment.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    cause,
  });
