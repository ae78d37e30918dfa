import { ownerLabelOf } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import type { RrsetKey, RrsetWriteKind } from './rrset-write.js';
import { settledAction } from './settled-answer.js';

/** A pending entry whose record set must be read upstream. */
export interface DueEntry {
  readonly entryId: number;
  readonly fence: number;
  readonly key: RrsetKey;
  readonly operation: RrsetWriteKind;
  readonly requestBody: string | null;
}

/** An entry whose record set is to be read again. */
export interface DueRecheck {
  readonly entryId: number;
  readonly key: RrsetKey;
  /** When it becomes due again unless it is dropped. */
  readonly recheckAt: Date;
}

export interface Settlement {
  /** The set as read upstream; null when absent there. */
  readonly found: string | null;
  /** Whether the write's effect was seen. */
  readonly applied: boolean;
  /** Time of settlement, used in the finished action. */
  readonly at: Date;
  /** Delay until the set is read again: an action may still have been running. */
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
  operation: RrsetWriteKind;
  request_body: string | null;
}
interface RecheckRow extends KeyRow {
  recheck_at: Date;
}

export const settlementStore = (pool: Pool) => ({
  /**
   * Takes over pending entries whose lease has expired: the holder died, or released the write without an outcome. The
   * longest due come first, so an unreadable set does not block others.
   */
  async takePending(max: number, leaseMs: number): Promise<DueEntry[]> {
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

  /** Like `takePending` for one set, so that a new write can settle the entry that blocks it. */
  async takePendingOf({ zoneId, name, type }: RrsetKey, leaseMs: number): Promise<DueEntry | null> {
    const { rows } = await pool.query<DueRow>(
      `UPDATE dns_audit_entry
       SET lease_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000), lease_fence = lease_fence + 1
       WHERE zone_id = $1 AND name = $2 AND type = $3 AND state = 'pending' AND lease_until <= ${rowClock}
       RETURNING id, lease_fence, zone_id, name, type, operation, request_body`,
      [zoneId, name, type, leaseMs],
    );
    return rows[0] === undefined ? null : dueEntry(rows[0]);
  },

  /** Extends the lease while the set is being read. */
  async renew({ entryId, fence }: Pick<DueEntry, 'entryId' | 'fence'>, leaseMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry
       SET lease_until = greatest(lease_until, clock_timestamp() + make_interval(secs => $3::float8 / 1000))
       WHERE id = $1 AND lease_fence = $2 AND state = 'pending'`,
      [entryId, fence, leaseMs],
    );
  },

  /**
   * The outcome that another process recorded; null while the entry is pending or when it ended without a settlement.
   */
  async findSettled(entryId: number): Promise<{ applied: boolean; found: string | null; at: Date } | null> {
    const { rows } = await pool.query<{ applied: boolean; found: string | null; at: Date }>(
      `SELECT found_applied AS applied, found_body AS found, completed_at AS at
       FROM dns_audit_entry WHERE id = $1 AND state = 'settled'`,
      [entryId],
    );
    return rows[0] ?? null;
  },

  /**
   * Takes entries whose set must be read again. They become due again after `retryMs` unless `dropRecheck` is called.
   */
  async takeRechecks(max: number, retryMs: number): Promise<DueRecheck[]> {
    const { rows } = await pool.query<RecheckRow>(
      `UPDATE dns_audit_entry SET recheck_at = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
       WHERE id IN (SELECT id FROM dns_audit_entry WHERE recheck_at <= ${rowClock}
                    ORDER BY recheck_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING id, zone_id, name, type, recheck_at`,
      [max, retryMs],
    );
    return rows.map((row) => ({ entryId: row.id, key: keyOf(row), recheckAt: row.recheck_at }));
  },

  /** Ends a recheck after the set was read. A recheck requested meanwhile stays. */
  async dropRecheck({ entryId, recheckAt }: DueRecheck): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET recheck_at = NULL WHERE id = $1 AND recheck_at = $2', [
      entryId,
      recheckAt,
    ]);
  },

  /**
   * Postpones a recheck by `retryMs` because the set could not be compared now. No effect if it was taken again
   * meanwhile.
   */
  async deferRecheck({ entryId, recheckAt }: DueRecheck, retryMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry SET recheck_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       WHERE id = $1 AND recheck_at = $2`,
      [entryId, recheckAt, retryMs],
    );
  },

  /** Removes the recheck because the writer has read the set itself. */
  async forgetRecheck(entryId: number): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET recheck_at = NULL WHERE id = $1', [entryId]);
  },

  /** Returns an entry whose set could not be read now. It is due again after `retryMs`. */
  async postpone({ entryId, fence }: DueEntry, retryMs: number): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry SET lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
       WHERE id = $1 AND lease_fence = $2 AND state = 'pending'`,
      [entryId, fence, retryMs],
    );
  },

  /**
   * Ends a pending entry with what was found: mirror, entry and action in one statement. False when another process
   * took over.
   */
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
        entryId,
        fence,
        found,
        applied,
        recheckAfterMs,
        ownerLabelOf(key.name),
        recordCountOf(found),
        action?.id ?? null,
        action?.body ?? null,
      ],
    );
    return rowCount === 1;
  },

  /** Age of the oldest entry due for settlement, in seconds; 0 when none is due. */
  async readBacklogSeconds(): Promise<number> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(lease_until))::float8 AS seconds
       FROM dns_audit_entry WHERE state = 'pending' AND lease_until <= ${rowClock}`,
    );
    return rows[0]?.seconds ?? 0;
  },

  /** Age of the oldest write without an outcome, also of one that is still being sent, in seconds; 0 when there is none. */
  async readPendingSeconds(): Promise<number> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS seconds
       FROM dns_audit_entry WHERE state = 'pending'`,
    );
    return Math.max(0, rows[0]?.seconds ?? 0);
  },
});
export type SettlementStore = ReturnType<typeof settlementStore>;

function dueEntry(row: DueRow): DueEntry {
  return {
    entryId: row.id,
    fence: row.lease_fence,
    key: keyOf(row),
    operation: row.operation,
    requestBody: row.request_body,
  };
}

function keyOf({ zone_id, name, type }: KeyRow): RrsetKey {
  return { zoneId: zone_id, name, type };
}
