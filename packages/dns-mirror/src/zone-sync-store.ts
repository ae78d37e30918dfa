import { inTransaction, type Pool } from '@corral/database';
import { findContested, type Observation, type ObserveOptions, observeRrsets } from './observe-rrsets.js';
import type { RrsetKey } from './rrset-write.js';

/** What was read upstream of one record set. */
export interface ObservedRrset {
  readonly key: RrsetKey;
  /** The upstream's body, null when the set is absent there. */
  readonly found: string | null;
  /** Postgres' clock before the read was sent. */
  readonly readAt: Date;
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

  /** Whether a read of the set at that time would prove nothing: then it need not be made. */
  async isContested({ zoneId, ...set }: RrsetKey, readAt: Date, graceMs: number): Promise<boolean> {
    return (await findContested(pool, { zoneId, sets: [set], readAt, graceMs })).size > 0;
  },

  /** Brings the mirror of one set to what was read upstream: see `observeRrsets`. */
  async observe({ key, found, readAt }: ObservedRrset, options: ObserveOptions): Promise<Observation> {
    const { zoneId, name, type } = key;
    const sets = [{ name, type, found }];
    const [observation] = await inTransaction(pool, (tx) => observeRrsets(tx, { zoneId, readAt, sets }, options));
    return observation as Observation;
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
