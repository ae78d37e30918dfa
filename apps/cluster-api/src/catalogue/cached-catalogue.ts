import type { CloudProfile } from '@corral/garden';
import { Problem } from '../problem.js';

/** What the garden offers, or why that is unknown. */
export type CatalogueResult =
  | { readonly profile: CloudProfile; readonly problem: null }
  /** `problem`: `upstream_unavailable`. Thrown only by changes that need the catalogue. */
  | { readonly profile: null; readonly problem: Problem };

export interface CachedCatalogueDeps {
  /** Must have its own time limit. */
  readonly read: () => Promise<CloudProfile>;
  /** Unix time in ms. */
  readonly now: () => number;
  /** A random number from 0 to 1. */
  readonly random: () => number;
  readonly onReadError: (error: unknown) => void;
}

const FRESH_MS = 60_000;
/** Delay after the first failed read, in ms. Doubles with each further failure. */
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 60_000;

/**
 * Caches the catalogue for a minute. Concurrent callers share one read. While the garden is unreachable the stale
 * catalogue is used, because the garden checks every change itself in the end. Failed reads are retried with
 * exponential backoff and jitter.
 */
export function cachedCatalogue({ read, now, random, onReadError }: CachedCatalogueDeps) {
  let cached: CloudProfile | null = null;
  let cause: unknown;
  let failures = 0;
  let nextReadAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;

  const refresh = async (): Promise<void> => {
    try {
      cached = await read();
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
    /** Returns the cached catalogue, or reads it when the cache is stale. Never rejects: most changes do not need it. */
    async get(): Promise<CatalogueResult> {
      if (reading === null && now() >= nextReadAt) {
        reading = refresh().finally(() => {
          reading = null;
        });
      }
      await reading;
      return cached === null
        ? { profile: null, problem: notRead(cause, nextReadAt - now()) }
        : { profile: cached, problem: null };
    },
  };
}

const notRead = (cause: unknown, waitMs: number): Problem =>
  new Problem('upstream_unavailable', 'The garden’s catalogue is temporarily unavailable. Try again in a moment.', {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    cause,
  });
