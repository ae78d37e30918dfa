import type { CloudProfile } from '@corral/garden';
import { Problem } from '../problem.js';

export interface Catalogue {
  /** The one that was read lately; null when there is none to rely on. Costs no call. */
  recent(): CloudProfile | null;
  /** @throws Problem `upstream_unavailable` as long as it was never read */
  read(): Promise<CloudProfile>;
}

export interface CachedCatalogueDeps {
  /** Bounded in time by whoever passes it in. */
  readonly read: () => Promise<CloudProfile>;
  readonly now: () => number;
  readonly onReadError: (error: unknown) => void;
}

const FRESH_MS = 60_000;
/** For so long after a failure nobody waits for the garden again. */
const RETRY_MS = 10_000;

/**
 * Keeps the catalogue for a minute. Many who ask at once share one call, and while the garden is away the last one
 * serves: the garden itself has the last word on every change.
 */
export function cachedCatalogue({ read, now, onReadError }: CachedCatalogueDeps): Catalogue {
  let held: CloudProfile | null = null;
  let reliableUntil = 0;
  let reading: Promise<CloudProfile> | null = null;

  const refresh = async (): Promise<CloudProfile> => {
    try {
      held = await read();
      reliableUntil = now() + FRESH_MS;
      return held;
    } catch (error) {
      onReadError(error);
      if (held === null) throw notRead(error);
      reliableUntil = now() + RETRY_MS;
      return held;
    }
  };

  return {
    recent: () => (now() < reliableUntil ? held : null),
    async read() {
      reading ??= refresh().finally(() => {
        reading = null;
      });
      return reading;
    },
  };
}

const notRead = (cause: unknown): Problem =>
  new Problem('upstream_unavailable', 'What the garden offers cannot be read just now. Try again in a moment.', {
    retryAfterSeconds: RETRY_MS / 1_000,
    cause,
  });
