import { type HcloudClient, type ReadOptions, UpstreamUnavailable } from '@corral/hcloud';
import { assertUsable, parseStoredWrite, type RrsetKey, showsEffect } from '../rrset.js';
import type { DueEntry, SettlementStore } from './settlement-store.js';

/** Reads single sets, and the zones that they are in. */
export interface RrsetSource {
  readonly readRrset: HcloudClient['readRrset'];
  readonly readZone: HcloudClient['readZone'];
}

/** Priority of a read in the upstream budget: see `packages/admission`. */
type ReadPurpose = NonNullable<ReadOptions['purpose']>;

/**
 * Reads the set's body; null when it is absent.
 *
 * @throws UpstreamUnavailable, UnusableRrset
 */
export type ReadRrset = (key: RrsetKey, purpose: ReadPurpose) => Promise<string | null>;

/**
 * Reads single sets. The upstream answers alike for an absent set and for a zone outside our token's project, so a set
 * counts as absent only once the zone itself has been seen.
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

/** The outcome of a settlement. */
export interface SettledOutcome {
  /** Whether its effect was found. */
  readonly applied: boolean;
  /** The set as read; null when absent. */
  readonly found: string | null;
  /** The time when it was settled. */
  readonly at: Date;
}

export interface SettleWriteDeps {
  readonly settlements: SettlementStore;
  readonly read: ReadRrset;
  /** Time after an accepted write in which a read may not show it yet. The set is rechecked after it. */
  readonly graceMs: number;
}

/** How long the holder of an entry may be silent before another process takes it over. */
export const SETTLE_LEASE_MS = 3_000;

/**
 * Finds the outcome of a write by reading its set, and ends its entry. The lease is renewed meanwhile, so the read may
 * take any time.
 *
 * @returns null when another process took over the entry
 * @throws whatever the read throws; the entry is then unchanged
 */
export async function settleWrite(deps: SettleWriteDeps, due: DueEntry): Promise<SettledOutcome | null> {
  const renewing = setInterval(() => {
    // A lost lease is detected when the entry is settled.
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
