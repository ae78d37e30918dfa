import type { PricesReading } from '@corral/hcloud';
import { aroundMs, backoffMs, type Log, spreadMs } from '@corral/service';
import { type OpenToken, openOrReport } from '../loop/provider-token.js';
import { inBatches } from '../loop/run-bounds.js';
import type { DuePrices, PriceStore } from './price-store.js';

export interface RefreshDeps {
  readonly store: PriceStore;
  /** @throws when the key that encrypted the token is missing */
  readonly openToken: OpenToken;
  readonly readPrices: (token: string) => Promise<PricesReading>;
  readonly onRead: (outcome: PricesReading['kind'] | 'unreadable') => void;
  readonly log: Log;
  readonly random?: () => number;
}

const BATCH = 20;
/** Longer than a reading. */
const CLAIM_MS = 60_000;
const DAY_MS = 86_400_000;
const retry = { firstMs: 60_000, maxMs: 6 * 3_600_000 };

/**
 * Reads the price lists of connections that became ready, got another token, or were last read a day ago. While the provider
 * does not answer, the last list stays.
 *
 * @returns the number of lists requested
 */
export const refreshPrices =
  (deps: RefreshDeps) =>
  (signal: AbortSignal): Promise<number> => {
    const claim = (limit: number) => deps.store.claimDue(limit, CLAIM_MS);
    return inBatches({ claim, work: (due) => refreshOne(deps, due), size: BATCH }, signal);
  };

async function refreshOne(deps: RefreshDeps, due: DuePrices): Promise<void> {
  const { store, onRead, log, random = Math.random } = deps;
  const { connectionId, failures } = due;
  const reading = await readingOf(deps, due);
  onRead(reading.kind);
  const againMs = nextReadingMs(reading, failures, random());
  if (reading.kind === 'read') {
    const { currency, prices } = reading;
    const hasChanged = await store.keep(due, { currency, prices, againMs });
    if (hasChanged) log.info('prices have changed', { connectionId, currency });
    return;
  }
  if (reading.kind === 'unavailable') log.warn('prices not read', { connectionId, reason: reading.reason });
  await store.putOff(due, againMs);
  if (reading.kind === 'refused') await store.requestVerification(due);
}

async function readingOf(deps: RefreshDeps, due: DuePrices) {
  const token = openOrReport(deps, due);
  return token === null ? ({ kind: 'unreadable' } as const) : deps.readPrices(token);
}

/**
 * Delay until the next reading in milliseconds: about a day after a success. After a failure it grows, and is at least the
 * provider's Retry-After.
 *
 * @param random in [0, 1], so that connections created together are not read together
 */
export function nextReadingMs(
  reading: PricesReading | { readonly kind: 'unreadable' },
  failures: number,
  random: number,
): number {
  if (reading.kind === 'read') return aroundMs(DAY_MS, random);
  const asked = reading.kind === 'throttled' ? Math.min(retry.maxMs, reading.retryAfterMs ?? 0) : 0;
  return spreadMs(Math.max(backoffMs(failures, retry), asked), random);
}
