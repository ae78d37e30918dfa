import { ownerLabelOf } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import { recordCountOf } from './rrset-body.js';
import type { RrsetKey, RrsetOperation } from './rrset-write.js';
import { settledAction } from './settled-answer.js';

/** An entry whose record set has to be read upstream. */
export interface DueEntry {
  readonly entryId: number;
  readonly fence: number;
  readonly key: RrsetKey;
  readonly operation: RrsetOperation;
  readonly requestBody: string | null;
}

/** An entry whose record set is read once more. */
export interface DueRecheck {
  readonly entryId: number;
  readonly key: RrsetKey;
  /** When it comes again unless it is dropped. */
  readonly recheckAt: Date;
}

export interface Settlement {
  /** The set as read upstream; null when absent there. */
  readonly found: string | null;
  /** Whether the write's effect was seen. */
  readonly applied: boolean;
  /** When, as its finished action tells. */
  readonly at: Date;
  /** The set is read once more after this time: an action may still have been running. */
  readonly recheckAfterMs: number;
}

interface KeyRow {
  id: number;
  zone_id: number;
  name: string;
  type: string;
}
interface DueRow extends KeyRow {
  lease_fence: number;
  operation: RrsetOperation;
  request_body: string | null;
}
interface RecheckRow extends KeyRow {
  recheck_at: Date;
}

export const settlementStore = (pool: Pool) => ({
  /**
   * Takes over pending entries whose lease ran out: their holder died, or gave up without knowing the outcome. Those
   * due longest come first, so that one which cannot be read holds up no other.
   */
  async claimPending(max: number, leaseMs: number): Promise<DueEntry[]> {
    const { rows } = await pool.query<DueRow>(
      `UPDATE dns_audit_entry
       SET lease_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000), lease_fence = lease_fence + 1
       WHERE id IN (SELECT id FROM dns_audit_entry WHERE state = 'pending' AND lease_until <= ${rowClock}
                    ORDER BY lease_until, id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING id, lease_fence, zone_id, name, type, operation, request_body`,
      [max, leaseMs],
    );
    return rows.map(dueEntry);
  },

  /** As `claimPending`, of one set: whoever wants to write to it settles what is in the way. */
  async claimPendingOf({ zoneId, name, type }: RrsetKey, leaseMs: number): Promise<DueEntry | null> {
    const { rows } = await pool.query<DueRow>(
      `UPDATE dns_audit_entry
       SET lease_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000), lease_fence = lease_fence + 1
       WHERE zone_id = $1 AND name = $2 AND type = $3 AND state = 'pending' AND lease_until <= ${rowClock}
       RETURNING id, lease_fence, zone_id, name, type, operation, request_body`,
      [zoneId, name, type, leaseMs],
    );
    return rows[0] === undefined ? null : dueEntry(rows[0]);
  },

  /** Whoever reads the set is still at it. */
  async renew({ entryId, fence }: Pick<DueEntry, 'entryId' | 'fence'>, leaseMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry
       SET lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => $3::float8 / 1000))
       WHERE id = $1 AND lease_fence = $2 AND state = 'pending'`,
      [entryId, fence, leaseMs],
    );
  },

  /** What another one found out about an entry; null while it is pending, or when it ended otherwise. */
  async findSettled(entryId: number): Promise<{ applied: boolean; found: string | null; at: Date } | null> {
    const { rows } = await pool.query<{ applied: boolean; found: string | null; at: Date }>(
      `SELECT found_applied AS applied, found_body AS found, completed_at AS at
       FROM dns_audit_entry WHERE id = $1 AND state = 'settled'`,
      [entryId],
    );
    return rows[0] ?? null;
  },

  /** Takes entries whose set has to be read once more; they come again after `retryMs` unless `dropRecheck` is called. */
  async claimRechecks(max: number, retryMs: number): Promise<DueRecheck[]> {
    const { rows } = await pool.query<RecheckRow>(
      `UPDATE dns_audit_entry SET recheck_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id IN (SELECT id FROM dns_audit_entry WHERE recheck_at <= ${rowClock}
                    ORDER BY recheck_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING id, zone_id, name, type, recheck_at`,
      [max, retryMs],
    );
    return rows.map((row) => ({ entryId: row.id, key: keyOf(row), recheckAt: row.recheck_at }));
  },

  /** The set was read. A recheck that was asked for meanwhile stays. */
  async dropRecheck({ entryId, recheckAt }: DueRecheck): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET recheck_at = NULL WHERE id = $1 AND recheck_at = $2', [
      entryId,
      recheckAt,
    ]);
  },

  /** The set could not be compared now: it comes again after `retryMs`, unless it was taken by another meanwhile. */
  async deferRecheck({ entryId, recheckAt }: DueRecheck, retryMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry SET recheck_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       WHERE id = $1 AND recheck_at = $2`,
      [entryId, recheckAt, retryMs],
    );
  },

  /** The set was read by whoever made the write. */
  async forgetRecheck(entryId: number): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET recheck_at = NULL WHERE id = $1', [entryId]);
  },

  /** Gives an entry back that could not be read now: it is due again after `retryMs`. */
  async postpone({ entryId, fence }: DueEntry, retryMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry SET lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       WHERE id = $1 AND lease_fence = $2 AND state = 'pending'`,
      [entryId, fence, retryMs],
    );
  },

  /** Ends a pending entry with what was found; mirror, entry and action in one statement. False when overtaken. */
  async settle(due: DueEntry, { found, applied, at, recheckAfterMs }: Settlement): Promise<boolean> {
    const { entryId, fence, key } = due;
    const action = applied ? settledAction({ ...due, found }, at) : null;
    const { rowCount } = await pool.query(
      `WITH done AS (
         UPDATE dns_audit_entry
         SET state = 'settled', found_body = $3, found_applied = $4, reserved_records = 0, lease_until = NULL,
             completed_at = clock_timestamp(),
             recheck_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000)
         WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
         RETURNING id, team_id, demo_id, zone_id, name, type
       ), kept AS (
         INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
         SELECT zone_id, name, type, $6, $7, $3 FROM done WHERE $3::text IS NOT NULL
         ON CONFLICT (zone_id, name, type) DO UPDATE
         SET record_count = excluded.record_count, body = excluded.body, updated_at = clock_timestamp()
       ), gone AS (
         DELETE FROM dns_rrset USING done
         WHERE $3::text IS NULL AND dns_rrset.zone_id = done.zone_id AND dns_rrset.name = done.name
           AND dns_rrset.type = done.type
       ), started AS (
         INSERT INTO dns_action (id, team_id, demo_id, audit_entry_id, status, body)
         SELECT $8::bigint, team_id, demo_id, id, 'success', $9 FROM done WHERE $8::bigint IS NOT NULL
       )
       SELECT id FROM done`,
      [
        ...[entryId, fence, found, applied, recheckAfterMs, ownerLabelOf(key.name), recordCountOf(found)],
        ...[action?.id ?? null, action?.body ?? null],
      ],
    );
    return rowCount === 1;
  },

  /** For how long the oldest due entry has been waiting to be settled, in seconds; 0 when none is due. */
  async readBacklogSeconds(): Promise<number> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(lease_until))::float8 AS seconds
       FROM dns_audit_entry WHERE state = 'pending' AND lease_until <= ${rowClock}`,
    );
    return rows[0]?.seconds ?? 0;
  },
});
export type SettlementStore = ReturnType<typeof settlementStore>;

function dueEntry(row: DueRow): DueEntry {
  return {
    ...{ entryId: row.id, fence: row.lease_fence, key: keyOf(row) },
    ...{ operation: row.operation, requestBody: row.request_body },
  };
}

function keyOf({ zone_id, name, type }: KeyRow): RrsetKey {
  return { zoneId: zone_id, name, type };
}
