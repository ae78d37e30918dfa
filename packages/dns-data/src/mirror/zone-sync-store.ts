import { inTransaction, onConnection, type Pool } from '@corral/database';
import type { RrsetKey } from '../writes/rrset-write.js';
import { findContested, type Observation, type ObserveOptions, observeRrsets } from './observe-rrsets.js';

/** One record set read from the upstream. */
export interface ObservedRrset {
  readonly key: RrsetKey;
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
}

/** Owners of the labels in a zone. */
export type ZoneOwners = 'teams' | 'demos';

/** Namespace of the advisory locks: arbitrary, but not used as a first key elsewhere. */
const ZONE_LOCKS = 7_237_001;

export const zoneSyncStore = (pool: Pool) => ({
  /** Postgres' clock, which also stamps the writes. */
  async readClock(): Promise<Date> {
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return (rows[0] as { now: Date }).now;
  },

  /** Saves the zone as stated, and who owns its labels. Fails when the mirror has another zone of that name. */
  async saveZone(zone: { id: number; name: string; body: string }, owners: ZoneOwners = 'teams'): Promise<void> {
    await pool.query(
      `INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES ($1, $2, $3, $4, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET name = excluded.name, body = excluded.body, of_demos = excluded.of_demos,
                                      synced_at = excluded.synced_at`,
      [zone.id, zone.name, zone.body, owners === 'demos'],
    );
  },

  /** Whether any walk over the zone has succeeded. Until then differences are an import, not drift. */
  async wasSynced(zoneId: number): Promise<boolean> {
    const { rowCount } = await pool.query(
      `SELECT 1 FROM dns_sync_run WHERE zone_id = $1 AND state = 'succeeded' LIMIT 1`,
      [zoneId],
    );
    return rowCount !== 0;
  },

  /**
   * Runs `work` as the only walk over the zone across processes. The lock ends with its connection, so a crash leaves
   * none behind.
   *
   * @returns `busy` when another walk is in progress: `work` did not run
   */
  withZoneLock<T>(zoneName: string, work: () => Promise<T>): Promise<T | 'busy'> {
    return onConnection(pool, async (holder, noteBroken) => {
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
  },

  /** The mirrored bodies of the given sets, keyed by `name/TYPE`. */
  async readBodies(zoneId: number, keys: readonly { name: string; type: string }[]): Promise<Map<string, string>> {
    const { rows } = await pool.query<{ id: string; body: string }>(
      `SELECT name || '/' || type AS id, body FROM dns_rrset
       WHERE zone_id = $1 AND (name, type) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
      [zoneId, keys.map((key) => key.name), keys.map((key) => key.type)],
    );
    return new Map(rows.map((row) => [row.id, row.body]));
  },

  /** Whether a read of the set at that time would prove nothing, so that it can be skipped. */
  async isContested({ zoneId, ...set }: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
    return (await findContested(pool, { zoneId, sets: [set], readAt, graceMs })).size > 0;
  },

  /** Updates the mirror of one set to what was read upstream. See `observeRrsets`. */
  async observe({ key, found, readAt }: ObservedRrset, options: ObserveOptions): Promise<Observation> {
    const { zoneId, name, type } = key;
    const sets = [{ name, type, found }];
    const [observation] = await inTransaction(pool, (tx) => observeRrsets(tx, { zoneId, readAt, sets }, options));
    return observation as Observation;
  },

  /**
   * Seconds since a walk over the zone last succeeded in any process. Before the first success, seconds since the first walk began;
   * null when none ever did.
   */
  async readSyncAgeSeconds(zoneName: string): Promise<number | null> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - coalesce(
         (SELECT max(finished_at) FROM dns_sync_run WHERE zone_name = $1 AND state = 'succeeded'),
         (SELECT min(started_at) FROM dns_sync_run WHERE zone_name = $1)
       ))::float8 AS seconds`,
      [zoneName],
    );
    return rows[0]?.seconds ?? null;
  },
});
export type ZoneSyncStore = ReturnType<typeof zoneSyncStore>;
