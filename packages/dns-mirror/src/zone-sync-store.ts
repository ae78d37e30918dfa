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

export type ObserveResult = Comparison | 'skipped';

export interface SyncCounts {
  readonly rrsetsSeen: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly skipped: number;
}

export const zoneSyncStore = (pool: Pool) => ({
  /** Postgres' clock: the one that stamps the writes. */
  async readClock(): Promise<Date> {
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return (rows[0] as { now: Date }).now;
  },

  /** Keeps the zone as stated. @returns whether the mirror knew the zone before */
  async saveZone(zone: { id: number; name: string; body: string }): Promise<'known' | 'new'> {
    const { rows } = await pool.query<{ inserted: boolean }>(
      `INSERT INTO dns_zone (id, name, body, synced_at) VALUES ($1, $2, $3, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, body = excluded.body, synced_at = excluded.synced_at
       RETURNING xmax = 0 AS inserted`,
      [zone.id, zone.name, zone.body],
    );
    return rows[0]?.inserted ? 'new' : 'known';
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

  /**
   * Brings the mirror of one set to what was read upstream, unless a write of ours is under way or too fresh for the
   * read to prove anything. Drift leaves an audit entry with the actor `upstream`.
   */
  observe({ key, found, readAt }: ObservedRrset, { graceMs, purpose }: ObserveOptions): Promise<ObserveResult> {
    const ownerLabel = ownerLabelOf(key.name);
    return inTransaction<ObserveResult>(pool, async (tx) => {
      // The lock under which writes begin: none can start on this set until this commit.
      const team = await tx.query<{ id: string }>('SELECT id FROM team WHERE slug = $1 FOR NO KEY UPDATE', [
        ownerLabel,
      ]);
      if (await isContested(tx, key, readAt, graceMs)) return 'skipped';
      const { rows } = await tx.query<{ body: string }>(
        'SELECT body FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3 FOR UPDATE',
        [key.zoneId, key.name, key.type],
      );
      const mirrored = rows[0]?.body ?? null;
      const comparison = compareRrset(key.type, mirrored, found);
      if (comparison === 'same') return comparison;
      await writeMirror(tx, key, ownerLabel, found);
      if (comparison === 'drifted' && purpose === 'sync') {
        await tx.query(
          `INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, state, found_body, created_at, completed_at)
           VALUES ($1, 'upstream', $2, $3, $4, 'drift', 'observed', $5, clock_timestamp(), clock_timestamp())`,
          [team.rows[0]?.id ?? null, key.zoneId, key.name, key.type, found],
        );
      }
      return comparison;
    });
  },

  /** Records the start of a walk. A request that came with an id of its own can be followed by it. */
  async startRun(zoneName: string, reason: string, runId: string | null): Promise<string> {
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
});
export type ZoneSyncStore = ReturnType<typeof zoneSyncStore>;

async function isContested(tx: Queryable, key: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    `SELECT 1 FROM dns_audit_entry
     WHERE zone_id = $1 AND name = $2 AND type = $3 AND actor = 'token'
       AND (state = 'pending'
            OR (state = 'completed' AND completed_at > $4::timestamptz - make_interval(secs => $5::float8 / 1000))
            OR (state = 'settled' AND completed_at > $4::timestamptz))
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
