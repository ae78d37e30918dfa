import {
  assertUsable,
  type DriftReporter,
  type FoundRrset,
  idOf,
  type ReadRrset,
  type SetKey,
  type SyncLease,
  type SyncRunStore,
  type SyncStep,
  UnusableRrset,
  type ZoneSyncStore,
} from '@corral/dns-data';
import type { HcloudClient, RrsetPage } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { unlessStopped } from '../loop/work.js';

interface WalkDeps {
  readonly store: ZoneSyncStore;
  readonly runs: SyncRunStore;
  readonly source: HcloudClient;
  readonly read: ReadRrset;
  readonly log: Log;
  /** Milliseconds after an accepted write during which a read may not show it yet. */
  readonly graceMs: number;
  readonly reportDrift: DriftReporter;
  readonly signal: AbortSignal;
}

export interface Walk {
  readonly zoneId: number;
  /** The first walk over a zone imports. Differences that later walks find are drift. */
  readonly purpose: 'import' | 'sync';
  readonly lease: SyncLease;
}

const KEYS_PER_PAGE = 500;
/** Each confirmation is one upstream call, and writes need the budget too. The rest waits for the next run. */
const CONFIRMATIONS_MAX = 100;

/**
 * Compares every record set of the zone with the mirror and updates the mirror to the upstream state, starting at the position
 * in the lease. Each step is recorded with its outcome, so a successor repeats at most one page.
 *
 * @throws UpstreamUnavailable, Stopped, SyncTakenOver: results recorded before stay valid
 */
export async function walkZone(deps: WalkDeps, walk: Walk): Promise<void> {
  await compareStated(deps, walk);
  await confirmAbsences(deps, walk);
}

async function compareStated(deps: WalkDeps, walk: Walk): Promise<void> {
  const { store, source, signal } = deps;
  const { zoneId, lease } = walk;
  let { nextPage, listedTotal } = lease;
  let returnsLeft = RETURNS_MAX;
  while (nextPage !== null) {
    const page: number = nextPage;
    const readAt = await store.readClock();
    const listed = await unlessStopped(() => source.listRrsets(zoneId, page, { purpose: 'sync', signal }), signal);
    const after = pageAfter({ page, listed, listedTotal, returnsLeft });
    if (after.isReturn) returnsLeft -= 1;
    const sets = listed.rrsets.map(({ name, type, body }) => ({ name, type, found: body }));
    const bodies = await store.readBodies(zoneId, sets);
    const differing: FoundRrset[] = [];
    for (const set of sets.filter((each) => bodies.get(idOf(each)) !== each.found)) {
      if ((await unlessUnusable(deps, set, async () => assertUsable(set.found))) !== 'unusable') differing.push(set);
    }
    ({ nextPage, listedTotal } = after);
    await record(deps, walk, {
      readings: { zoneId, readAt, sets: unique(differing) },
      seen: sets,
      skipped: after.missed,
      position: { nextPage, listedTotal },
    });
  }
}

/** Maximum number of returns to earlier pages. With constant removals the walk would never end. */
const RETURNS_MAX = 20;

/**
 * Reads each mirrored set that the list did not contain. Pages shift during concurrent writes, so a set that is missing from
 * the list may still exist.
 */
async function confirmAbsences(deps: WalkDeps, walk: Walk): Promise<void> {
  const { store, runs, read, graceMs } = deps;
  const { zoneId, lease } = walk;
  const position = { nextPage: null, listedTotal: null };
  let confirmations = 0;
  let skipped = 0;
  for (let after: SetKey | null = null; ; ) {
    const keys: SetKey[] = await runs.listUnseenAfter(lease.runId, zoneId, after, KEYS_PER_PAGE);
    for (const { name, type } of keys) {
      const key = { zoneId, name, type };
      const readAt = await store.readClock();
      if (confirmations === CONFIRMATIONS_MAX || (await store.isContested(key, readAt, graceMs))) {
        skipped += 1;
        continue;
      }
      confirmations += 1;
      const found = await unlessUnusable(deps, key, () => read(key, 'sync'));
      if (found === 'unusable') continue;
      await record(deps, walk, {
        readings: { zoneId, readAt, sets: [{ name, type, found }] },
        seen: found === null ? [] : [{ name, type }],
        skipped: 0,
        position,
      });
    }
    after = keys.at(-1) ?? null;
    if (after === null) break;
  }
  if (skipped > 0) {
    const readings = { zoneId, readAt: await store.readClock(), sets: [] };
    await record(deps, walk, { readings, seen: [], skipped, position });
  }
}

async function record({ runs, graceMs, reportDrift }: WalkDeps, { lease, purpose }: Walk, step: SyncStep) {
  const observations = await runs.recordStep(lease, step, { graceMs, purpose });
  if (purpose === 'sync') observations.forEach(reportDrift);
}

/** A set in an unsupported shape stays as mirrored, and does not block the others. */
async function unlessUnusable<T>({ log }: WalkDeps, { name, type }: SetKey, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnusableRrset)) throw error;
    log.error('upstream record set unusable', { name, type, error });
    return 'unusable';
  }
}

/** A page may contain a set more than once. */
const unique = (sets: readonly FoundRrset[]): FoundRrset[] => [
  ...new Map(sets.map((set) => [idOf(set), set])).values(),
];

interface ListedPage {
  /** Counts from 1. */
  readonly page: number;
  readonly listed: RrsetPage;
  /** The upstream's total at the previous page. Null at the first page, or when the upstream does not count. */
  readonly listedTotal: number | null;
  /** How many more returns to earlier pages are allowed. */
  readonly returnsLeft: number;
}

interface PageAfter {
  /** Null at the end of the list. */
  readonly nextPage: number | null;
  readonly listedTotal: number | null;
  readonly isReturn: boolean;
  /** Sets that may have been skipped and that the walk does not return for. */
  readonly missed: number;
}

/** Maximum number of sets on an upstream page. */
const SETS_PER_PAGE = 100;

/**
 * Decides where to continue. Sets removed upstream between two pages move all later ones up, some onto pages already read. The walk
 * returns as far as they can have moved. Added sets move others down, which are then seen twice.
 */
export function pageAfter({ page, listed, listedTotal, returnsLeft }: ListedPage): PageAfter {
  const total = listed.totalEntries;
  const gone = total === null || listedTotal === null ? 0 : Math.max(0, listedTotal - total);
  const goesBack = gone > 0 && page > 1 && returnsLeft > 0;
  return {
    nextPage: goesBack ? Math.max(1, page - Math.ceil(gone / SETS_PER_PAGE)) : listed.nextPage,
    listedTotal: total,
    isReturn: goesBack,
    missed: page > 1 && !goesBack ? gone : 0,
  };
}
