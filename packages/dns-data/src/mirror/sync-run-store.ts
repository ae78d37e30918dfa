import { onConnection, type Pool, type Prisma, readClock, type Transaction } from '@corral/database';
import {
  type Observation,
  type ObserveOptions,
  observeRrsets,
  type RrsetReadings,
  type SetKey,
} from './observe-rrsets.js';

export interface SyncCounts {
  readonly rrsetsSeen: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
}

/** Position of a walk after comparing a page. */
interface SyncPosition {
  /** One-based; null once all pages have been compared. */
  readonly nextPage: number | null;
  /** The upstream's count of sets on the previous page; null before the first page. */
  readonly listedTotal: number | null;
}

/** The right to continue a walk, and its position. */
export interface SyncLease extends SyncPosition {
  readonly runId: string;
  readonly fence: number;
  /** Whether the walk was started earlier, by another process or before an upstream outage. */
  readonly isResumed: boolean;
}

export interface SyncStep {
  /** Sets that differ from the mirror. */
  readonly readings: RrsetReadings;
  /** All sets seen upstream, different or not. */
  readonly seen: readonly SetKey[];
  /** Number of sets left to the next walk without a comparison. */
  readonly skipped: number;
  readonly position: SyncPosition;
}

/** Another process has taken over the walk. The lease is no longer valid. */
export class SyncTakenOver extends Error {
  override readonly name = 'SyncTakenOver';
}

/** A walk without progress for longer than this starts over, in ms. */
const RESUMABLE_MS = 3_600_000;
/** Maximum age of a resumable walk in ms. With little upstream budget, a large zone takes hours. */
const WALK_MS_MAX = 48 * 3_600_000;

/** Walks over a zone, as rows with their positions. A crash loses at most the current page. */
export const syncRunStore = (prisma: Prisma) => ({
  /**
   * Takes the next walk: an unfinished one, whatever its reason, or a new one. Only the holder of the zone's lock calls
   * this, so a run marked as running has lost its process.
   *
   * @param runId id of a requested run, by which clients can follow it
   * @returns `ended` when the requested run has already succeeded
   */
  takeRun(zoneName: string, reason: string, runId: string | null): Promise<SyncLease | 'ended'> {
    return prisma.$transaction<SyncLease | 'ended'>(async (tx) => {
      const ended = runId !== null && (await tx.dnsSyncRun.findUnique({ where: { id: runId, state: 'succeeded' } }));
      if (ended) return 'ended';
      const now = await readClock(tx);
      const { id, fence, ...position } =
        (await resume(tx, zoneName, now)) ?? (await begin(tx, { zoneName, reason, runId }, now));
      return { runId: id, fence, isResumed: fence > 1, ...position };
    });
  },

  /** Records why a requested walk could not begin, for clients that follow it. */
  async refuseRun(zoneName: string, reason: string, runId: string, failure: string): Promise<void> {
    const now = await readClock(prisma);
    const run = { id: runId, zoneName, reason, state: 'failed', failure } as const;
    const times = { startedAt: now, progressedAt: now, finishedAt: now };
    await prisma.dnsSyncRun.createMany({ data: [{ ...run, ...times }], skipDuplicates: true });
  },

  /**
   * Updates the mirror and the position of the run in one transaction.
   *
   * @throws SyncTakenOver
   */
  recordStep({ runId, fence }: SyncLease, step: SyncStep, options: ObserveOptions): Promise<Observation[]> {
    const { readings, seen, position, skipped } = step;
    return prisma.$transaction<Observation[]>(async (tx) => {
      const progressedAt = await readClock(tx);
      // Locks the run, so that nobody takes it over before the commit.
      const held = await tx.dnsSyncRun.updateMany({
        where: { id: runId, fence, state: 'running' },
        data: { ...position, progressedAt },
      });
      if (held.count === 0) throw new SyncTakenOver('Another process continues the walk.');
      const observations = await observeRrsets(tx, readings, options);
      const fresh = await tx.dnsSyncSeen.createMany({
        data: seen.map(({ name, type }) => ({ runId, name, type })),
        skipDuplicates: true,
      });
      const more = (kind: string, others = 0) => ({
        increment: observations.filter(({ result }) => result === kind).length + others,
      });
      await tx.dnsSyncRun.updateMany({
        where: { id: runId },
        data: {
          rrsetsSeen: { increment: fresh.count },
          added: more('added'),
          changed: more('changed'),
          removed: more('removed'),
          skipped: more('skipped', skipped),
        },
      });
      return observations;
    });
  },

  /** Mirrored sets that the walk has not seen, in a stable order after the given one. */
  listUnseenAfter(runId: string, zoneId: number, after: SetKey | null, max: number): Promise<SetKey[]> {
    return prisma.$queryRaw<SetKey[]>`
      SELECT name, type FROM dns_rrset AS rrset
      WHERE zone_id = ${zoneId} AND (name, type) > (${after?.name ?? ''}, ${after?.type ?? ''})
        AND NOT EXISTS (SELECT FROM dns_sync_seen
                        WHERE run_id = ${runId}::uuid AND name = rrset.name AND type = rrset.type)
      ORDER BY name, type LIMIT ${max}`;
  },

  /** @throws SyncTakenOver */
  finishRun({ runId, fence }: SyncLease, zoneId: number): Promise<SyncCounts> {
    return prisma.$transaction<SyncCounts>(async (tx) => {
      const finishedAt = await readClock(tx);
      const ended = await tx.dnsSyncRun.updateMany({
        where: { id: runId, fence, state: 'running' },
        data: { state: 'succeeded', zoneId, finishedAt },
      });
      if (ended.count === 0) throw new SyncTakenOver('Another process continues the walk.');
      await tx.dnsSyncSeen.deleteMany({ where: { runId } });
      const select = { rrsetsSeen: true, added: true, changed: true, removed: true, skipped: true } as const;
      return tx.dnsSyncRun.findUniqueOrThrow({ where: { id: runId }, select });
    });
  },

  /** Ends the walk as failed; the next one resumes at its position. */
  async failRun({ runId, fence }: SyncLease, failure: string): Promise<void> {
    await prisma.dnsSyncRun.updateMany({
      where: { id: runId, fence, state: 'running' },
      data: { state: 'failed', failure, finishedAt: await readClock(prisma) },
    });
  },
});
export type SyncRunStore = ReturnType<typeof syncRunStore>;

const taken = { id: true, fence: true, nextPage: true, listedTotal: true } as const;

interface TakenRun extends SyncPosition {
  readonly id: string;
  readonly fence: number;
}

/** The newest unfinished walk, unless a later one succeeded. */
async function resume(tx: Transaction, zoneName: string, now: Date): Promise<TakenRun | null> {
  // A run that failed before its first page has nothing to resume. In SQL, `not: 1` leaves out null.
  const left = await tx.dnsSyncRun.findFirst({
    where: {
      zoneName,
      progressedAt: { gt: new Date(now.getTime() - RESUMABLE_MS) },
      startedAt: { gt: new Date(now.getTime() - WALK_MS_MAX) },
      OR: [{ state: 'running' }, { state: 'failed', OR: [{ nextPage: null }, { nextPage: { not: 1 } }] }],
    },
    orderBy: { startedAt: 'desc' },
    select: { id: true, startedAt: true },
  });
  if (left === null) return null;
  const later = { zoneName, state: 'succeeded', startedAt: { gt: left.startedAt } } as const;
  if ((await tx.dnsSyncRun.count({ where: later })) > 0) return null;
  return tx.dnsSyncRun.update({ where: { id: left.id }, data: runningFrom(now, { increment: 1 }), select: taken });
}

async function begin(
  tx: Transaction,
  { zoneName, reason, runId }: { readonly zoneName: string; readonly reason: string; readonly runId: string | null },
  now: Date,
): Promise<TakenRun> {
  await tx.dnsSyncRun.updateMany({
    where: { zoneName, state: 'running' },
    data: { state: 'failed', failure: 'Its process ended before the run did.', finishedAt: now },
  });
  await tx.dnsSyncSeen.deleteMany({ where: { run: { zoneName } } });
  const counts = { rrsetsSeen: 0, added: 0, changed: 0, removed: 0, skipped: 0 };
  const start = { ...counts, nextPage: 1, listedTotal: null, startedAt: now };
  const created = { zoneName, reason, ...start, ...runningFrom(now, 1) };
  if (runId === null) return tx.dnsSyncRun.create({ data: created, select: taken });
  return tx.dnsSyncRun.upsert({
    where: { id: runId },
    create: { id: runId, ...created },
    update: { ...start, ...runningFrom(now, { increment: 1 }) },
    select: taken,
  });
}

const runningFrom = <Fence>(progressedAt: Date, fence: Fence) =>
  ({ state: 'running', failure: null, finishedAt: null, fence, progressedAt }) as const;

/** Namespace of the advisory locks: arbitrary, but not used as a first key elsewhere. */
const ZONE_LOCKS = 7_237_001;

/**
 * Runs `work` as the only walk over the zone across processes. The lock ends with its connection, so a crash leaves
 * none behind.
 *
 * @returns `busy` when another walk is in progress: `work` did not run
 */
export type WithZoneLock = <T>(zoneName: string, work: () => Promise<T>) => Promise<T | 'busy'>;

/** @param pool lends a connection for as long as the lock is held */
export const zoneLock =
  (pool: Pool): WithZoneLock =>
  (zoneName, work) =>
    onConnection(pool, async (holder, noteBroken) => {
      const { rows } = await holder.query<{ taken: boolean }>(
        'SELECT pg_try_advisory_lock($1, hashtext($2)) AS taken',
        [ZONE_LOCKS, zoneName],
      );
      if (!rows[0]?.taken) return 'busy';
      try {
        return await work();
      } finally {
        await holder.query('SELECT pg_advisory_unlock($1, hashtext($2))', [ZONE_LOCKS, zoneName]).catch(noteBroken);
      }
    });
