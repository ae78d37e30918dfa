import { inTransaction, type Pool, type Queryable } from '@corral/database';
import {
  columnsOf,
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

/** The right to continue a walk, and its position. */
export interface SyncLease {
  readonly runId: string;
  readonly fence: number;
  /** One-based; null once all pages have been compared. */
  readonly nextPage: number | null;
  /** The upstream's count of sets on the previous page; null before the first page. */
  readonly listedTotal: number | null;
  /** Whether the walk was started earlier, by another process or before an upstream outage. */
  readonly isResumed: boolean;
}

/** Position of a walk after comparing a page. */
export type SyncPosition = Pick<SyncLease, 'nextPage' | 'listedTotal'>;

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

/** A walk without progress for longer than this starts over. */
const RESUMABLE_FOR = '1 hour';
/** Maximum age of a resumable walk. With little upstream budget, a large zone takes hours. */
const WALK_LASTS = '2 days';

interface RunRow extends Omit<SyncCounts, 'rrsetsSeen'> {
  id: string;
  fence: number;
  next_page: number | null;
  listed_total: number | null;
  rrsets_seen: number;
}

/** Walks over a zone, as rows with their positions. A crash loses at most the current page. */
export const syncRunStore = (pool: Pool) => ({
  /**
   * Takes the next walk: an unfinished one, whatever its reason, or a new one. Only the holder of the zone's lock calls
   * this, so a run marked as running has lost its process.
   *
   * @param runId id of a requested run, by which clients can follow it
   */
  takeRun(zoneName: string, reason: string, runId: string | null): Promise<SyncLease | 'ended'> {
    return inTransaction<SyncLease | 'ended'>(pool, async (tx) => {
      const ended = await tx.query(`SELECT 1 FROM dns_sync_run WHERE id = $1 AND state = 'succeeded'`, [runId]);
      if (ended.rowCount !== 0) return 'ended';
      const taken = (await resume(tx, zoneName)) ?? (await begin(tx, zoneName, reason, runId));
      return {
        runId: taken.id,
        fence: taken.fence,
        isResumed: taken.fence > 1,
        nextPage: taken.next_page,
        listedTotal: taken.listed_total,
      };
    });
  },

  /** Records why a requested walk could not begin, for clients that follow it. */
  async refuseRun(zoneName: string, reason: string, runId: string, failure: string): Promise<void> {
    await pool.query(
      `INSERT INTO dns_sync_run (id, zone_name, reason, state, failure, finished_at)
       VALUES ($2, $1, $3, 'failed', $4, clock_timestamp()) ON CONFLICT (id) DO NOTHING`,
      [zoneName, runId, reason, failure],
    );
  },

  /**
   * Updates the mirror and the position of the run in one transaction.
   *
   * @throws SyncTakenOver
   */
  recordStep({ runId, fence }: SyncLease, step: SyncStep, options: ObserveOptions): Promise<Observation[]> {
    const { readings, seen, position } = step;
    return inTransaction<Observation[]>(pool, async (tx) => {
      const held = await tx.query(
        `SELECT 1 FROM dns_sync_run WHERE id = $1 AND fence = $2 AND state = 'running' FOR NO KEY UPDATE`,
        [runId, fence],
      );
      if (held.rowCount === 0) throw new SyncTakenOver('Another process continues the walk.');
      const observations = await observeRrsets(tx, readings, options);
      const fresh = await tx.query(
        `INSERT INTO dns_sync_seen (run_id, name, type) SELECT $1::uuid, * FROM unnest($2::text[], $3::text[])
         ON CONFLICT DO NOTHING`,
        [runId, ...columnsOf(seen)],
      );
      const count = (kind: string): number => observations.filter(({ result }) => result === kind).length;
      await tx.query(
        `UPDATE dns_sync_run
         SET next_page = $2, listed_total = $3, rrsets_seen = rrsets_seen + $4, added = added + $5,
             changed = changed + $6, removed = removed + $7, skipped = skipped + $8, progressed_at = clock_timestamp()
         WHERE id = $1`,
        [
          runId,
          position.nextPage,
          position.listedTotal,
          fresh.rowCount,
          count('added'),
          count('changed'),
          count('removed'),
          count('skipped') + step.skipped,
        ],
      );
      return observations;
    });
  },

  /** Mirrored sets that the walk has not seen, in a stable order after the given one. */
  async listUnseenAfter(runId: string, zoneId: number, after: SetKey | null, max: number): Promise<SetKey[]> {
    const { rows } = await pool.query<SetKey>(
      `SELECT name, type FROM dns_rrset AS rrset
       WHERE zone_id = $2 AND (name, type) > ($3, $4)
         AND NOT EXISTS (SELECT 1 FROM dns_sync_seen WHERE run_id = $1 AND name = rrset.name AND type = rrset.type)
       ORDER BY name, type LIMIT $5`,
      [runId, zoneId, after?.name ?? '', after?.type ?? '', max],
    );
    return rows;
  },

  /** @throws SyncTakenOver */
  async finishRun({ runId, fence }: SyncLease, zoneId: number): Promise<SyncCounts> {
    const { rows } = await pool.query<RunRow>(
      `WITH done AS (
         UPDATE dns_sync_run SET state = 'succeeded', zone_id = $3, finished_at = clock_timestamp()
         WHERE id = $1 AND fence = $2 AND state = 'running' RETURNING *
       ), forgotten AS (
         DELETE FROM dns_sync_seen USING done WHERE run_id = done.id
       )
       SELECT * FROM done`,
      [runId, fence, zoneId],
    );
    const [done] = rows;
    if (done === undefined) throw new SyncTakenOver('Another process continues the walk.');
    const { rrsets_seen: rrsetsSeen, added, changed, removed, skipped } = done;
    return { rrsetsSeen, added, changed, removed, skipped };
  },

  /** Ends the walk as failed; the next one resumes at its position. */
  async failRun({ runId, fence }: SyncLease, failure: string): Promise<void> {
    await pool.query(
      `UPDATE dns_sync_run SET state = 'failed', failure = $3, finished_at = clock_timestamp()
       WHERE id = $1 AND fence = $2 AND state = 'running'`,
      [runId, fence, failure],
    );
  },
});
export type SyncRunStore = ReturnType<typeof syncRunStore>;

/** The newest unfinished walk, unless a later one succeeded. */
async function resume(tx: Queryable, zoneName: string): Promise<RunRow | null> {
  const { rows } = await tx.query<RunRow>(
    `UPDATE dns_sync_run
     SET state = 'running', failure = NULL, finished_at = NULL, fence = fence + 1, progressed_at = clock_timestamp()
     WHERE id = (
       SELECT id FROM dns_sync_run AS run
       WHERE zone_name = $1 AND progressed_at > clock_timestamp() - $2::interval AND started_at > clock_timestamp() - $3::interval
         AND (state = 'running' OR (state = 'failed' AND next_page IS DISTINCT FROM 1))
         AND NOT EXISTS (SELECT 1 FROM dns_sync_run
                         WHERE zone_name = $1 AND state = 'succeeded' AND started_at > run.started_at)
       ORDER BY started_at DESC LIMIT 1)
     RETURNING *`,
    [zoneName, RESUMABLE_FOR, WALK_LASTS],
  );
  return rows[0] ?? null;
}

async function begin(tx: Queryable, zoneName: string, reason: string, runId: string | null): Promise<RunRow> {
  await tx.query(
    `WITH given_up AS (
       UPDATE dns_sync_run SET state = 'failed', failure = $2, finished_at = clock_timestamp()
       WHERE zone_name = $1 AND state = 'running'
     )
     DELETE FROM dns_sync_seen USING dns_sync_run AS run WHERE run.id = run_id AND run.zone_name = $1`,
    [zoneName, 'Its process ended before the run did.'],
  );
  const { rows } = await tx.query<RunRow>(
    `INSERT INTO dns_sync_run AS run (id, zone_name, reason, state, fence)
     VALUES (coalesce($3::uuid, gen_random_uuid()), $1, $2, 'running', 1)
     ON CONFLICT (id) DO UPDATE
     SET state = 'running', failure = NULL, finished_at = NULL, fence = run.fence + 1, next_page = 1,
         listed_total = NULL, rrsets_seen = 0, added = 0, changed = 0, removed = 0, skipped = 0,
         started_at = clock_timestamp(), progressed_at = clock_timestamp()
     RETURNING *`,
    [zoneName, reason, runId],
  );
  return rows[0] as RunRow;
}
