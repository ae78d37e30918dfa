import { type HcloudClient, type ReadOptions, UpstreamUnavailable } from '@corral/hcloud';
import { showsEffect } from './rrset-body.js';
import { parseStoredWrite, type RrsetKey } from './rrset-write.js';
import type { DueEntry, SettlementStore } from './settlement-store.js';
import { assertUsable } from './usable-rrset.js';

export type RrsetSource = Pick<HcloudClient, 'readRrset' | 'readZone'>;

/** By it a read has its turn at the upstream: see `packages/hcloud`. */
export type ReadPurpose = NonNullable<ReadOptions['purpose']>;

/**
 * Gives the set's body, or null when it is absent.
 *
 * @throws UpstreamUnavailable, UnusableRrset
 */
export type ReadRrset = (key: RrsetKey, purpose: ReadPurpose) => Promise<string | null>;

/**
 * Reads single sets. The upstream says the same of an absent set and of a zone that our token does not reach, as after a
 * change of projects; so absence counts only once the zone itself was seen.
 */
export function upstreamReader(source: RrsetSource, signal?: AbortSignal): ReadRrset {
  const seenZones = new Set<number>();
  return async ({ zoneId, name, type }, purpose) => {
    const options = { purpose, ...(signal === undefined ? {} : { signal }) };
    const rrset = await source.readRrset(zoneId, name, type, options);
    if (rrset.kind === 'found') {
      assertUsable(rrset.body);
      return rrset.body;
    }
    if (!seenZones.has(zoneId)) {
      const zone = await source.readZone(zoneId, options);
      if (zone.kind === 'absent') throw new UpstreamUnavailable(`zone ${zoneId} is not in the upstream project`);
      seenZones.add(zoneId);
    }
    return null;
  };
}

/** What became of a write whose outcome was not known. */
export interface SettledOutcome {
  /** Whether its effect was found. */
  readonly applied: boolean;
  /** The set as it was read; null when absent. */
  readonly found: string | null;
  /** When it was settled. */
  readonly at: Date;
}

export interface SettleWriteDeps {
  readonly settlements: Pick<SettlementStore, 'settle' | 'renew'>;
  readonly read: ReadRrset;
  /** For so long after an accepted write a read may not show it yet; after it comes the second look. */
  readonly graceMs: number;
}

/** Whoever settles an entry and dies is followed by another after so long. */
export const SETTLE_LEASE_MS = 3_000;

/**
 * Finds out what became of a write by reading its set, and ends its entry with that. The lease is renewed all along, so a
 * read may last for as long as it takes.
 *
 * @returns null when another one took the entry over meanwhile
 * @throws what the read throws: then the entry is as it was
 */
export async function settleWrite(deps: SettleWriteDeps, due: DueEntry): Promise<SettledOutcome | null> {
  const renewing = setInterval(() => {
    // What fails here shows when the entry is to be ended.
    deps.settlements.renew(due, SETTLE_LEASE_MS).catch(() => undefined);
  }, SETTLE_LEASE_MS / 3);
  try {
    const found = await deps.read(due.key, 'settle');
    const write = parseStoredWrite(due.operation, due.requestBody);
    const applied = write !== null && showsEffect(found, write);
    const at = new Date();
    const isOurs = await deps.settlements.settle(due, { found, applied, at, recheckAfterMs: deps.graceMs });
    return isOurs ? { applied, found, at } : null;
  } finally {
    clearInterval(renewing);
  }
}
