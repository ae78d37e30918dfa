import type { DriftKind, ObserveResult, RrsetKey, SyncCounts, ZoneSyncStore } from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { unlessStopped } from '../loop/unless-stopped.js';
import { assertUsable, type ReadRrset, UnusableRrset } from './upstream-reader.js';

export interface WalkDeps {
  readonly store: Pick<ZoneSyncStore, 'readClock' | 'readBodies' | 'listKeysAfter' | 'isContested' | 'observe'>;
  readonly source: Pick<HcloudClient, 'listRrsets'>;
  readonly read: ReadRrset;
  readonly log: Log;
  /** For so long after an accepted write a read may not show it yet. */
  readonly graceMs: number;
  readonly onDrift: (kind: DriftKind) => void;
  readonly signal: AbortSignal;
}

export interface Walk {
  readonly zoneId: number;
  /** The first walk over a zone imports; what later ones find different is drift. */
  readonly purpose: 'import' | 'sync';
}

const KEYS_PER_PAGE = 500;
/** Each confirmation is one upstream call, and writes need the budget too: what is left over waits for the next run. */
const CONFIRMATIONS_MAX = 100;

/**
 * Compares every record set of the zone with the mirror and brings the mirror to what the upstream states.
 *
 * @throws UpstreamUnavailable, Stopped: what was compared until then stays right
 */
export async function walkZone(deps: WalkDeps, walk: Walk): Promise<SyncCounts> {
  const tally = startTally(deps, walk);
  const seen = await compareStated(deps, walk, tally);
  const confirmed = await confirmAbsences(deps, walk, tally, seen);
  return { rrsetsSeen: seen.size + confirmed.present, ...tally.counts() };
}

/** @returns the ids of the sets that the upstream listed */
async function compareStated(deps: WalkDeps, { zoneId }: Walk, tally: Tally): Promise<Set<string>> {
  const { store, source, signal } = deps;
  const seen = new Set<string>();
  let next: number | null = 1;
  while (next !== null) {
    const page: number = next;
    const readAt = await store.readClock();
    const { rrsets, nextPage } = await unlessStopped(
      () => source.listRrsets(zoneId, page, { purpose: 'sync', signal }),
      signal,
    );
    const bodies = await store.readBodies(zoneId, rrsets);
    for (const { name, type, body } of rrsets) {
      const id = idOf({ name, type });
      seen.add(id);
      if (bodies.get(id) !== body) await tally.observe({ zoneId, name, type }, body, readAt);
    }
    next = nextPage;
  }
  return seen;
}

/**
 * Reads one by one the mirrored sets that the list did not show. Pages shift while others write, so a set that is
 * missing in the list need not be missing in the zone.
 */
async function confirmAbsences({ store, read, graceMs }: WalkDeps, { zoneId }: Walk, tally: Tally, seen: Set<string>) {
  let present = 0;
  let confirmations = 0;
  let after: { name: string; type: string } | null = null;
  for (;;) {
    const keys: { name: string; type: string }[] = await store.listKeysAfter(zoneId, after, KEYS_PER_PAGE);
    for (const { name, type } of keys.filter((key) => !seen.has(idOf(key)))) {
      const key = { zoneId, name, type };
      const readAt = await store.readClock();
      if (confirmations === CONFIRMATIONS_MAX || (await store.isContested(key, readAt, graceMs))) {
        tally.skip();
        continue;
      }
      confirmations += 1;
      const found = await tally.unlessUnusable(key, () => read(key, 'sync'));
      if (found === 'unusable') continue;
      if (found !== null) present += 1;
      await tally.observe(key, found, readAt);
    }
    after = keys.at(-1) ?? null;
    if (after === null) return { present };
  }
}

type Tally = ReturnType<typeof startTally>;

function startTally({ store, log, graceMs, onDrift }: WalkDeps, { purpose }: Walk) {
  const results: Record<ObserveResult, number> = { same: 0, restated: 0, added: 0, changed: 0, removed: 0, skipped: 0 };

  /** A set in a shape we cannot hold stays as it is mirrored, and keeps no other from being compared. */
  const unlessUnusable = async <T>({ name, type }: RrsetKey, work: () => Promise<T>): Promise<T | 'unusable'> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnusableRrset)) throw error;
      log.error('upstream record set unusable', { name, type, error });
      return 'unusable';
    }
  };
  return {
    unlessUnusable,
    skip(): void {
      results.skipped += 1;
    },
    async observe(key: RrsetKey, found: string | null, readAt: Date): Promise<void> {
      const result = await unlessUnusable(key, async () => {
        if (found !== null) assertUsable(found);
        return store.observe({ key, found, readAt }, { graceMs, purpose });
      });
      if (result === 'unusable') return;
      results[result] += 1;
      if (purpose === 'sync' && isDrift(result)) onDrift(result);
    },
    counts: () => {
      const { added, changed, removed, skipped } = results;
      return { added, changed, removed, skipped };
    },
  };
}

function isDrift(result: ObserveResult): result is DriftKind {
  return result === 'added' || result === 'changed' || result === 'removed';
}

const idOf = ({ name, type }: { name: string; type: string }): string => `${name}/${type}`;
