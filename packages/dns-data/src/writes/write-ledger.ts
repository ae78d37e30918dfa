import { type DnsErrorCode, ownerLabelOf } from '@corral/contracts';
import { inOrder, inTransaction, isHeldNow, type Pool, rowClock } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import { decideAdmission, type OwnerQuota, type RecordQuota } from './admission.js';
import { type DeliveryCheck, type LatestWrite, latestColumns, latestWrite, replayOf } from './copies.js';
import { ceilingsOf, heldByActions, mirroredRecords, reservedRecords } from './records-held.js';
import { countUnsent } from './refused-writes.js';
import type { RrsetKey, RrsetOwner, RrsetWrite } from './rrset-write.js';

/** A write to be entered into the ledger. */
export interface NewWrite {
  readonly owner: RrsetOwner;
  /** Null for a deletion by Corral itself after the end of a demo. */
  readonly tokenId: string | null;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly requestBody: string | null;
  /** Identifies the request in the log; null when no client request caused the write. */
  readonly requestId: string | null;
  /** SHA-256 of token, method, path and body; null for requests that no client repeats. */
  readonly requestHash: Buffer | null;
}

export interface LedgerOptions {
  readonly quota: RecordQuota;
  /** How long no other process may settle a write in progress: longer than any upstream call. */
  readonly leaseMs: number;
  /** How long an undelivered outcome is kept for the client's retry. */
  readonly replayMs: number;
}

/** The right to finish one pending entry. */
export interface WriteLease {
  readonly entryId: number;
  readonly fence: number;
  /** The mirrored body when the write began. It cannot change while the entry is pending. */
  readonly current: string | null;
  /** The most records the set may have upstream, whether or not this write and earlier ones take effect. */
  readonly recordsMax: number;
}

export type BeginOutcome =
  | { kind: 'begun'; lease: WriteLease }
  /**
   * Another write to the set is in progress. `identical`: it is the same request, repeated. `isDue`: its holder is
   * gone, so any process may settle it.
   */
  | { kind: 'busy'; entryId: number; identical: boolean; isDue: boolean }
  /** An identical request was answered before, but its client did not receive the answer. */
  | { kind: 'replayed'; entryId: number; status: number; body: string }
  /** `reservedByActions`: the write would fit once the actions of earlier writes have succeeded. */
  | { kind: 'refused'; limit: keyof RecordQuota; max: number; reservedByActions: boolean }
  /** The demo has ended, so only deletions are accepted. */
  | { kind: 'ended' }
  /** A hold is in force, so nothing is changed. */
  | { kind: 'held' };

/** The known outcome of a write in progress. */
export type WriteEnd =
  | {
      state: 'completed';
      status: number;
      body: string;
      /** The set's body now, null when it is gone. */
      rrset: string | null;
      action: { id: number; status: string; body: string } | null;
      recheck: boolean;
      /** The mirror held a set that had been removed outside Corral. Recorded as drift. */
      wasRemoved?: boolean;
    }
  | { state: 'refused'; status: number; body: string; recheck: boolean }
  | { state: 'unsent'; code: DnsErrorCode };

interface QuotaSnapshot extends LatestWrite {
  rrset: string | null;
  records: number;
  reserved: number;
  /** Records beyond those mirrored and reserved that reappear if actions fail. */
  reserved_by_actions: number;
  /** Ceiling of the set itself; null when no action of its writes can still fail. */
  ceiling: number | null;
  /** Whether a hold is in force. */
  held: boolean;
}

const lockOwner = {
  // The quota is read under the lock, so a write that begins after a change of it is counted by the new one.
  team: {
    name: 'ledger-lock-team',
    text: `SELECT true AS live, dns_records_max AS "recordsMax" FROM team WHERE id = $1 FOR NO KEY UPDATE`,
  },
  // Ending a demo takes this lock too, so no write can begin after its end is committed.
  demo: {
    name: 'ledger-lock-demo',
    text: `SELECT ended_at IS NULL AND expires_at > ${rowClock} AS live FROM demo WHERE id = $1
           FOR NO KEY UPDATE`,
  },
};

// One snapshot for the mirrored and the reserved counts. Otherwise a write that finishes in between would be counted
// twice or not at all.
const readSnapshot = {
  name: 'ledger-snapshot',
  text: `
    SELECT ${latestColumns('$5', '$7')},
           (SELECT body FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3) AS rrset,
           ${mirroredRecords('$1', '$4')} AS records,
           ${reservedRecords('$6')} AS reserved,
           holding.records AS reserved_by_actions, holding.ceiling, ${isHeldNow} AS held
    FROM (SELECT 1) AS one
    CROSS JOIN LATERAL (
      SELECT ${heldByActions} AS records,
             max(high.ceiling) FILTER (WHERE zone_id = $1 AND name = $2 AND type = $3) AS ceiling
      FROM ${ceilingsOf('$6')}
    ) AS holding
    LEFT JOIN LATERAL (${latestWrite}) AS latest ON true`,
};

const insertPending = {
  name: 'ledger-insert-pending',
  text: `
    INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state,
                                 request_body, request_hash, reserved_records, lease_until, lease_fence, created_at,
                                 request_id, before_body)
    VALUES ($1, $2, CASE WHEN $3::uuid IS NULL THEN 'service' ELSE 'token' END::dns_actor, $3, $4, $5, $6, $7,
            'pending', $8, $9, $10, clock_timestamp() + make_interval(secs => $11::float8 / 1000), 1, clock_timestamp(),
            $12, $13)
    RETURNING id`,
};

// One statement, so entry, mirror and action change atomically. A settlement that took over the lease has raised the
// fence, and then nothing here takes effect.
const finishEntry = {
  name: 'ledger-finish',
  text: `
    WITH done AS (
      UPDATE dns_audit_entry
      SET state = $3::dns_audit_state, upstream_status = $4, upstream_body = $5, reserved_records = 0,
          records_ceiling = $15, lease_until = NULL, completed_at = clock_timestamp(), after_body = $8,
          recheck_at = CASE WHEN $6 THEN clock_timestamp() END
      WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
      RETURNING id, team_id, demo_id, zone_id, name, type, before_body
    ), kept AS (
      INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
      SELECT zone_id, name, type, $9, $10, $8 FROM done WHERE $7 AND $8::text IS NOT NULL
      ON CONFLICT (zone_id, name, type) DO UPDATE
      SET record_count = excluded.record_count, body = excluded.body, updated_at = clock_timestamp()
    ), gone AS (
      DELETE FROM dns_rrset USING done
      WHERE $7 AND $8::text IS NULL AND dns_rrset.zone_id = done.zone_id AND dns_rrset.name = done.name
        AND dns_rrset.type = done.type
    ), started AS (
      INSERT INTO dns_action (id, team_id, demo_id, audit_entry_id, status, body)
      SELECT $11::bigint, team_id, demo_id, id, $12, $13 FROM done WHERE $11::bigint IS NOT NULL
      ON CONFLICT (id) DO NOTHING
    ), drifted AS (
      INSERT INTO dns_audit_entry (team_id, demo_id, actor, zone_id, name, type, operation, state, created_at,
                                   completed_at, before_body)
      SELECT team_id, demo_id, 'upstream', zone_id, name, type, 'drift', 'observed', clock_timestamp(),
             clock_timestamp(), before_body FROM done WHERE $14
    )
    SELECT id FROM done`,
};

// A write that never reached the upstream is removed and counted in one statement, so it is counted once.
const countEntry = {
  name: 'ledger-count-unsent',
  text: `
    WITH done AS (
      DELETE FROM dns_audit_entry WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
      RETURNING team_id, demo_id, actor, token_id, zone_id, name, type, operation, request_id
    )
    ${countUnsent('SELECT *, $3::text AS refusal_code FROM done')}`,
};

/** The ledger of pending writes. It keeps quotas, ordering and the audit log correct across crashes and replicas. */
export const writeLedger = (pool: Pool, { quota, leaseMs, replayMs }: LedgerOptions) => ({
  /**
   * First transaction of a write: checks the quotas and records the write as pending, before anything is sent.
   *
   * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new write
   */
  begin(newWrite: NewWrite, wasDelivered: DeliveryCheck): Promise<BeginOutcome> {
    const { owner, tokenId, key, write, requestBody, requestHash } = newWrite;
    return inTransaction<BeginOutcome>(pool, async (tx, commitWith) => {
      // Sent together, executed in order: the second statement takes its snapshot while the lock is held.
      const [locked, { rows }] = await inOrder([
        tx.query<{ live: boolean; recordsMax?: number | null }>({ ...lockOwner[owner.kind], values: [owner.id] }),
        tx.query<QuotaSnapshot>({
          ...readSnapshot,
          values: [key.zoneId, key.name, key.type, ownerLabelOf(key.name), requestHash, owner.id, replayMs],
        }),
      ]);
      const snapshot = rows[0] as QuotaSnapshot;
      if (snapshot.held) return { kind: 'held' };
      if (!locked.rows[0]?.live && write.operation !== 'delete') return { kind: 'ended' };
      if (snapshot.latest_state === 'pending') {
        const { latest_id: entryId, latest_identical: identical, latest_due: isDue } = snapshot;
        return { kind: 'busy', entryId: Number(entryId), identical: identical === true, isDue: isDue === true };
      }
      const replayed = replayOf(newWrite, snapshot, wasDelivered);
      if (replayed !== null) return replayed;
      const { admission, reservedByActions } = admit(
        write,
        snapshot,
        quotaOf(owner, quota, locked.rows[0]?.recordsMax),
      );
      if (admission.kind === 'refused') return { ...admission, reservedByActions };
      const inserted = await commitWith(
        tx.query<{ id: number }>({
          ...insertPending,
          values: [
            owner.teamId,
            owner.kind === 'demo' ? owner.id : null,
            tokenId,
            key.zoneId,
            key.name,
            key.type,
            write.operation,
            requestBody,
            requestHash,
            admission.reserve,
            leaseMs,
            newWrite.requestId,
            snapshot.rrset,
          ],
        }),
      );
      const entryId = (inserted.rows[0] as { id: number }).id;
      const { recordsMax } = admission;
      return { kind: 'begun', lease: { entryId, fence: 1, current: snapshot.rrset, recordsMax } };
    });
  },

  /**
   * Second transaction: records a known outcome.
   *
   * @returns false when a settlement took over meanwhile; nothing is written then
   */
  async finish(lease: WriteLease, key: RrsetKey, end: WriteEnd): Promise<boolean> {
    if (end.state === 'unsent') {
      const counted = await pool.query({ ...countEntry, values: [lease.entryId, lease.fence, end.code] });
      return counted.rowCount === 1;
    }
    const completed = end.state === 'completed' ? end : null;
    const { rowCount } = await pool.query({
      ...finishEntry,
      values: [
        lease.entryId,
        lease.fence,
        end.state,
        end.status,
        end.body,
        end.recheck,
        completed !== null,
        completed?.rrset ?? null,
        ownerLabelOf(key.name),
        recordCountOf(completed?.rrset ?? null),
        completed?.action?.id ?? null,
        completed?.action?.status ?? null,
        completed?.action?.body ?? null,
        completed?.wasRemoved ?? false,
        completed === null ? null : ceilingOf(lease, completed),
      ],
    });
    return rowCount === 1;
  },

  /**
   * Records that the outcome is unknown. The entry stays pending, keeps its reservation, and may be settled after
   * `settleAfterMs`.
   *
   * @param answer the upstream's answer, if there was one
   */
  async release(
    lease: WriteLease,
    settleAfterMs: number,
    answer: { status: number; body: string } | null,
  ): Promise<void> {
    await pool.query(
      `UPDATE dns_audit_entry
       SET lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
           upstream_status = coalesce($4, upstream_status), upstream_body = coalesce($5, upstream_body)
       WHERE id = $1 AND lease_fence = $2 AND state = 'pending'`,
      [lease.entryId, lease.fence, settleAfterMs, answer?.status ?? null, answer?.body ?? null],
    );
  },

  /** The clients of these entries have received their answers, so a later identical request is a new write. */
  async markAnswered(entryIds: readonly number[]): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET answered = true WHERE id = ANY($1)', [entryIds]);
  },
});
export type WriteLedger = ReturnType<typeof writeLedger>;

/** Records freed by earlier writes count as used while their actions may fail. */
function admit(write: RrsetWrite, snapshot: QuotaSnapshot, owner: OwnerQuota) {
  const { rrset, records, reserved, reserved_by_actions: ofActions } = snapshot;
  const mirrored = recordCountOf(rrset);
  const ceiling = Math.max(mirrored, snapshot.ceiling ?? 0);
  const admission = decideAdmission(write, rrset, records + reserved + ofActions, owner, ceiling);
  const isBlockedByActions = admission.kind === 'refused' && (ofActions > 0 || ceiling > mirrored);
  const reservedByActions =
    isBlockedByActions && decideAdmission(write, rrset, records + reserved, owner).kind === 'admitted';
  return { admission, reservedByActions };
}

/** The records the set has if the action fails, where that is more than if it succeeds. */
function ceilingOf({ recordsMax }: WriteLease, { rrset, action }: Extract<WriteEnd, { state: 'completed' }>) {
  return action?.status === 'running' && recordsMax > recordCountOf(rrset) ? recordsMax : null;
}

/** @param recordsMax the team's own quota; without it, that of the installation applies */
function quotaOf({ kind }: RrsetOwner, quota: RecordQuota, recordsMax: number | null = null): OwnerQuota {
  if (kind !== 'team') return { limit: 'recordsPerDemo', quota };
  return { limit: 'recordsPerTeam', quota: { ...quota, recordsPerTeam: recordsMax ?? quota.recordsPerTeam } };
}
