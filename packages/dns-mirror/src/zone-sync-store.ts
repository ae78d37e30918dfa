import { ownerLabelOf } from '@corral/contracts';
import { inTransaction, type Pool, type Queryable } from '@corral/database';
import { type Comparison, compareRrset } from './compare-rrset.js';
import { recordCountOf } from './rrset-body.js';
import type { RrsetKey } from './rrset-write.js';

/** What was read upstream of one record set. */
export interface ObservedRrset {
  readonly key: RrsetKey;
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
}

export interface ObserveOptions {
  /** An accepted write shows upstream only after its action: for so long afterwards, a read proves nothing. */
  readonly graceMs: number;
  /** Whether a difference is drift, or a set that is mirrored for the first time. */
  readonly purpose: 'import' | 'sync';
}

export type DriftKind = 'added' | 'changed' | 'removed';

/** `skipped`: a write of ours is under way or too fresh for the read to prove anything. */
export type ObserveResult = Exclude<Comparison, 'drifted'> | DriftKind | 'skipped';

export interface SyncCounts {
  readonly rrsetsSeen: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
}

/** What the labels of a zone name. */
export type ZoneOwners = 'teams' | 'demos';

/** Any number, as long as no other advisory lock has it as its first key. */
const ZONE_LOCKS = 7_237_001;

export const zoneSyncStore = (pool: Pool) => ({
  /** Postgres' clock: the one that stamps the writes. */
  async readClock(): Promise<Date> {
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return (rows[0] as { now: Date }).now;
  },

  /** Keeps the zone as stated, and whose labels are in it. Fails when the mirror knows another zone by that name. */
  async saveZone(zone: { id: number; name: string; body: string }, owners: ZoneOwners = 'teams'): Promise<void> {
    await pool.query(
      `INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES ($1, $2, $3, $4, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, body = excluded.body, of_demos = excluded.of_demos,
                                      synced_at = excluded.synced_at`,
      [zone.id, zone.name, zone.body, owners === 'demos'],
    );
  },

  /** Whether a walk over the zone was ever completed. Until then what it finds is an import, not drift. */
  async wasSynced(zoneId: number): Promise<boolean> {
    const { rowCount } = await pool.query(
      `SELECT 1 FROM dns_sync_run WHERE zone_id = $1 AND state = 'succeeded' LIMIT 1`,
      [zoneId],
    );
    return rowCount !== 0;
  },

  /**
   * Runs `work` as the only walk over the zone, across processes. The lock ends with its connection, so a process that
   * dies leaves none behind.
   *
   * @returns `busy` when another walk is under way: `work` did not run
   */
  async withZoneLock<T>(zoneName: string, work: () => Promise<T>): Promise<T | 'busy'> {
    const holder = await pool.connect();
    let broken: Error | undefined;
    // Between statements nobody else listens, and an error that nobody hears would end the process.
    const noteBroken = (error: Error): void => {
      broken = error;
    };
    holder.on('error', noteBroken);
    try {
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
    } finally {
      holder.off('error', noteBroken);
      holder.release(broken);
    }
  },

  /** The mirrored bodies of the given sets, by `name/TYPE`. */
  async readBodies(zoneId: number, keys: readonly { name: string; type: string }[]): Promise<Map<string, string>> {
    const { rows } = await pool.query<{ id: string; body: string }>(
      `SELECT name || '/' || type AS id, body FROM dns_rrset
       WHERE zone_id = $1 AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
      [zoneId, keys.map((key) => key.name), keys.map((key) => key.type)],
    );
    return new Map(rows.map((row) => [row.id, row.body]));
  },

  /** Mirrored keys in steady order after the given one: a walk that holds no cursor open. */
  async listKeysAfter(zoneId: number, after: { name: string; type: string } | null, max: number) {
    const { rows } = await pool.query<{ name: string; type: string }>(
      `SELECT name, type FROM dns_rrset WHERE zone_id = $1 AND (name, type) > ($2, $3) ORDER BY name, type LIMIT $4`,
      [zoneId, after?.name ?? '', after?.type ?? '', max],
    );
    return rows;
  },

  /** Whether a read of the set at that time would prove nothing: then it need not be made. */
  async isContested(key: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
    return isContested(pool, key, readAt, graceMs);
  },

  /**
   * Brings the mirror of one set to what was read upstream, unless a write of ours is under way or too fresh for the
   * read to prove anything. Drift leaves an audit entry with the actor `upstream`.
   */
  observe({ key, found, readAt }: ObservedRrset, { graceMs, purpose }: ObserveOptions): Promise<ObserveResult> {
    const ownerLabel = ownerLabelOf(key.name);
    return inTransaction<ObserveResult>(pool, async (tx) => {
      // The lock under which writes begin: none can start on this set until this commit.
      const owner = await lockOwner(tx, key.zoneId, ownerLabel);
      if (await isContested(tx, key, readAt, graceMs)) return 'skipped';
      const { rows } = await tx.query<{ body: string }>(
        'SELECT body FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3 FOR UPDATE',
        [key.zoneId, key.name, key.type],
      );
      const mirrored = rows[0]?.body ?? null;
      const comparison = compareRrset(key.type, mirrored, found);
      if (comparison === 'same') return comparison;
      await writeMirror(tx, key, ownerLabel, found);
      if (comparison === 'restated') return comparison;
      if (purpose === 'sync') {
        await tx.query(
          `INSERT INTO dns_audit_entry (team_id, demo_id, actor, zone_id, name, type, operation, state, found_body,
                                        created_at, completed_at)
           VALUES ($1, $2, 'upstream', $3, $4, $5, 'drift', 'observed', $6, clock_timestamp(), clock_timestamp())`,
          [owner?.team_id ?? null, owner?.demo_id ?? null, key.zoneId, key.name, key.type, found],
        );
      }
      return mirrored === null ? 'added' : found === null ? 'removed' : 'changed';
    });
  },

  /**
   * Records the start of a walk; a request that came with an id of its own can be followed by it. Only the holder of
   * the zone's lock calls it, so other runs that still count as running have lost their process.
   */
  async startRun(zoneName: string, reason: string, runId: string | null): Promise<string> {
    await pool.query(
      `UPDATE dns_sync_run SET state = 'failed', failure = $3, finished_at = clock_timestamp()
       WHERE zone_name = $1 AND state = 'running' AND id IS DISTINCT FROM $2::uuid`,
      [zoneName, runId, 'Its process ended before the run did.'],
    );
    const { rows } = await pool.query<{ id: string }>(
      `INSERT INTO dns_sync_run (id, zone_name, reason, state) VALUES (coalesce($3::uuid, gen_random_uuid()), $1, $2, 'running')
       ON CONFLICT (id) DO UPDATE SET state = 'running', failure = NULL, finished_at = NULL RETURNING id`,
      [zoneName, reason, runId],
    );
    return (rows[0] as { id: string }).id;
  },

  async finishRun(runId: string, zoneId: number, counts: SyncCounts): Promise<void> {
    await pool.query(
      `UPDATE dns_sync_run SET state = 'succeeded', zone_id = $2, rrsets_seen = $3, added = $4, changed = $5,
              removed = $6, skipped = $7, finished_at = clock_timestamp() WHERE id = $1`,
      [runId, zoneId, counts.rrsetsSeen, counts.added, counts.changed, counts.removed, counts.skipped],
    );
  },

  async failRun(runId: string, failure: string): Promise<void> {
    await pool.query(
      `UPDATE dns_sync_run SET state = 'failed', failure = $2, finished_at = clock_timestamp() WHERE id = $1`,
      [runId, failure],
    );
  },

  /** Seconds since a walk over the zone last succeeded, by whichever process; null when none ever did. */
  async readSyncAgeSeconds(zoneName: string): Promise<number | null> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - max(finished_at))::float8 AS seconds
       FROM dns_sync_run WHERE zone_name = $1 AND state = 'succeeded'`,
      [zoneName],
    );
    return rows[0]?.seconds ?? null;
  },
});
export type ZoneSyncStore = ReturnType<typeof zoneSyncStore>;

interface LockedOwner {
  team_id: string | null;
  demo_id: string | null;
}

/** An ended demo counts until its label is released: what is found at its name until then is still its own. */
async function lockOwner(tx: Queryable, zoneId: number, label: string): Promise<LockedOwner | null> {
  const team = await tx.query<LockedOwner>(
    `SELECT id AS team_id, NULL AS demo_id FROM team
     WHERE slug = $2 AND NOT EXISTS (SELECT 1 FROM dns_zone WHERE id = $1 AND of_demos) FOR NO KEY UPDATE`,
    [zoneId, label],
  );
  if (team.rows[0] !== undefined) return team.rows[0];
  const demo = await tx.query<LockedOwner>(
    `SELECT team_id, id AS demo_id FROM demo WHERE zone_id = $1 AND label = $2 AND released_at IS NULL
     FOR NO KEY UPDATE`,
    [zoneId, label],
  );
  return demo.rows[0] ?? null;
}

/** An accepted write shows when its action has ended, which we may have seen; else it is given the grace. */
async function isContested(db: Queryable, key: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT 1 FROM dns_audit_entry AS entry
     WHERE zone_id = $1 AND name = $2 AND type = $3 AND actor <> 'upstream'
       AND (state = 'pending'
            OR (state IN ('completed', 'settled') AND completed_at >= $4::timestamptz)
            OR (state = 'completed' AND completed_at > $4::timestamptz - make_interval(secs => $5::float8 / 1000)
                AND NOT EXISTS (SELECT 1 FROM dns_action
                                WHERE audit_entry_id = entry.id AND status <> 'running'
                                  AND checked_at < $4::timestamptz)))
     LIMIT 1`,
    [key.zoneId, key.name, key.type, readAt, graceMs],
  );
  return rowCount !== 0;
}

async function writeMirror(tx: Queryable, key: RrsetKey, ownerLabel: string, found: string | null): Promise<void> {
  if (found === null) {
    await tx.query('DELETE FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3', [
      key.zoneId,
      key.name,
      key.type,
    ]);
    return;
  }
  await tx.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (zone_id, name, type) DO UPDATE
     SET record_count = excluded.record_count, body = excluded.body, updated_at = clock_timestamp()`,
    [key.zoneId, key.name, key.type, ownerLabel, recordCountOf(found), found],
  );
}
