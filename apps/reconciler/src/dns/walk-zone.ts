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
} from '@corral/dns-mirror';
import type { HcloudClient } from '@corral/hcloud';
import type { Log } from '@corral/service';
import { unlessStopped } from '../loop/unless-stopped.js';
import { pageAfter } from './page-after.js';

export interface WalkDeps {
  readonly store: Pick<ZoneSyncStore, 'readClock' | 'readBodies' | 'isContested'>;
  readonly runs: Pick<SyncRunStore, 'recordStep' | 'listUnseenAfter'>;
  readonly source: Pick<HcloudClient, 'listRrsets'>;
  readonly read: ReadRrset;
  readonly log: Log;
  /** For so long after an accepted write a read may not show it yet. */
  readonly graceMs: number;
  readonly reportDrift: DriftReporter;
  readonly signal: AbortSignal;
}

export interface Walk {
  readonly zoneId: number;
  /** The first walk over a zone imports; what later ones find different is drift. */
  readonly purpose: 'import' | 'sync';
  readonly lease: SyncLease;
}

const KEYS_PER_PAGE = 500;
/** Each confirmation is one upstream call, and writes need the budget too: what is left over waits for the next run. */
const CONFIRMATIONS_MAX = 100;

/**
 * Compares every record set of the zone with the mirror and brings the mirror to what the upstream states, from where
 * the lease says on. Each step is recorded with its outcome, so whoever goes on repeats one page at most.
 *
 * @throws UpstreamUnavailable, Stopped, SyncTakenOver: what was compared until then stays right
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
      ...{ seen: sets, skipped: after.missed, position: { nextPage, listedTotal } },
    });
  }
}

/** How often a walk goes back to pages that it has read: where sets go all the time, it would never reach the end. */
const RETURNS_MAX = 20;

/**
 * Reads one by one the mirrored sets that the list did not show. Pages shift while others write, so a set that is
 * missing in the list need not be missing in the zone.
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
        ...{ seen: found === null ? [] : [{ name, type }], skipped: 0, position },
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

/** A set in a shape we cannot hold stays as it is mirrored, and keeps no other from being compared. */
async function unlessUnusable<T>({ log }: WalkDeps, { name, type }: SetKey, work: () => Promise<T>) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnusableRrset)) throw error;
    log.error('upstream record set unusable', { name, type, error });
    return 'unusable';
  }
}

/** Nobody promises that a page states a set once only. */
const unique = (sets: readonly FoundRrset[]): FoundRrset[] => [
  ...new Map(sets.map((set) => [idOf(set), set])).values(),
];
