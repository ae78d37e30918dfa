import { type DnsErrorCode, ownerLabelOf } from '@corral/contracts';
import { inTransaction, type Pool, rowClock } from '@corral/database';
import { decideAdmission, type OwnerQuota, type RecordQuota } from './admission.js';
import { type DeliveryCheck, type LatestWrite, latestColumns, latestWrite, replayOf } from './copies.js';
import { countUnsent } from './refused-writes.js';
import { recordCountOf } from './rrset-body.js';
import type { RrsetKey, RrsetWrite } from './rrset-write.js';

/** Whose label a name ends in: a team in the zone of the teams, or a demo in the demo zone. */
export interface RrsetOwner {
  readonly kind: 'team' | 'demo';
  readonly id: string;
  /** The team in whose audit log the write is; null for a demo that no team made. */
  readonly teamId: string | null;
}

/** A write as it enters the ledger. */
export interface NewWrite {
  readonly owner: RrsetOwner;
  /** Null for a deletion that Corral itself makes at the end of a demo. */
  readonly tokenId: string | null;
  readonly key: RrsetKey;
  readonly write: RrsetWrite;
  readonly requestBody: string | null;
  /** By which the request is known in the log; null for what no client asked for. */
  readonly requestId: string | null;
  /** SHA-256 of token, method, path and body; null for what no client sends again. */
  readonly requestHash: Buffer | null;
}

export interface LedgerOptions {
  readonly quota: RecordQuota;
  /** How long nobody else may settle a write that is under way: longer than any upstream call lasts. */
  readonly leaseMs: number;
  /** For how long an outcome that never reached its client is kept for the client's next try. */
  readonly replayMs: number;
}

/** The right to finish one pending entry. */
export interface WriteLease {
  readonly entryId: number;
  readonly fence: number;
  /** The mirrored body when the write began. Nobody changes it while the entry is pending. */
  readonly current: string | null;
  /** How many records the set may have upstream, be this write and those before it of effect or not. */
  readonly recordsMax: number;
}

export type BeginOutcome =
  | { kind: 'begun'; lease: WriteLease }
  /**
   * Another write to the set is under way; `identical` when it is this very request, sent again, and `isDue` when its
   * holder is gone: then anybody may settle it.
   */
  | { kind: 'busy'; entryId: number; identical: boolean; isDue: boolean }
  /** This very request was answered before, but its client never got the answer. */
  | { kind: 'replayed'; entryId: number; status: number; body: string }
  /** `heldByActions`: there is room once actions of earlier writes have succeeded. */
  | { kind: 'refused'; limit: keyof RecordQuota; max: number; heldByActions: boolean }
  /** The demo is over: what is at its name may only be deleted any more. */
  | { kind: 'ended' };

/** How a write under way ends, once that is known. */
export type WriteEnd =
  | {
      state: 'completed';
      status: number;
      body: string;
      /** The set's body now, null when it is gone. */
      rrset: string | null;
      action: { id: number; status: string; body: string } | null;
      recheck: boolean;
      /** Somebody else had removed the set that the mirror held: drift, of which an entry tells. */
      wasRemoved?: boolean;
    }
  | { state: 'refused'; status: number; body: string; recheck: boolean }
  | { state: 'unsent'; code: DnsErrorCode };

interface Standing extends LatestWrite {
  rrset: string | null;
  records: number;
  reserved: number;
  /** Beyond the mirrored and the reserved records: what may be there again when actions fail. */
  held_by_actions: number;
  /** Of the set itself; null when no action of its writes may fail any more. */
  ceiling: number | null;
}

const lockOwner = {
  team: { name: 'ledger-lock-team', text: 'SELECT true AS live FROM team WHERE id = $1 FOR NO KEY UPDATE' },
  // Whoever ends a demo holds this lock as well: no write can begin once its end was committed.
  demo: {
    name: 'ledger-lock-demo',
    text: `SELECT ended_at IS NULL AND expires_at > ${rowClock} AS live FROM demo WHERE id = $1
           FOR NO KEY UPDATE`,
  },
};

// One snapshot for the counts of the mirror and of what is pending: a write that finishes between them would be
// counted twice or not at all.
const readStanding = {
  name: 'ledger-standing',
  text: `
    SELECT ${latestColumns('$5', '$7')},
           (SELECT body FROM dns_rrset WHERE zone_id = $1 AND name = $2 AND type = $3) AS rrset,
           (SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset WHERE zone_id = $1 AND owner_label = $4) AS records,
           (SELECT coalesce(sum(reserved_records), 0)::int FROM dns_audit_entry
             WHERE coalesce(demo_id, team_id) = $6 AND state = 'pending') AS reserved,
           holding.records AS held_by_actions, holding.ceiling
    FROM (SELECT 1) AS one
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(greatest(0, high.ceiling - coalesce(rrset.record_count, 0)
                                      - coalesce(pending.reserved_records, 0))), 0)::int AS records,
             max(high.ceiling) FILTER (WHERE zone_id = $1 AND name = $2 AND type = $3) AS ceiling
      FROM (SELECT zone_id, name, type, max(records_ceiling) AS ceiling FROM dns_audit_entry
            WHERE coalesce(demo_id, team_id) = $6 AND records_ceiling IS NOT NULL
            GROUP BY zone_id, name, type) AS high
      LEFT JOIN dns_rrset AS rrset USING (zone_id, name, type)
      LEFT JOIN (SELECT zone_id, name, type, reserved_records FROM dns_audit_entry WHERE state = 'pending') AS pending
        USING (zone_id, name, type)
    ) AS holding
    LEFT JOIN LATERAL (${latestWrite}) AS latest ON true`,
};

const insertPending = {
  name: 'ledger-insert-pending',
  text: `
    INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state,
                                 request_body, request_hash, reserved_records, lease_until, lease_fence, created_at,
                                 request_id)
    VALUES ($1, $2, CASE WHEN $3::uuid IS NULL THEN 'service' ELSE 'token' END::dns_actor, $3, $4, $5, $6, $7,
            'pending', $8, $9, $10, clock_timestamp() + make_interval(secs => $11::float8 / 1000), 1, clock_timestamp(),
            $12)
    RETURNING id`,
};

// One statement, so one commit: entry, mirror and action change together or not at all. A settlement that took the
// lease over raised the fence; then nothing here takes effect.
const finishEntry = {
  name: 'ledger-finish',
  text: `
    WITH done AS (
      UPDATE dns_audit_entry
      SET state = $3::dns_audit_state, upstream_status = $4, upstream_body = $5, reserved_records = 0,
          records_ceiling = $15, lease_until = NULL, completed_at = clock_timestamp(),
          recheck_at = CASE WHEN $6 THEN clock_timestamp() END
      WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
      RETURNING id, team_id, demo_id, zone_id, name, type
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
                                   completed_at)
      SELECT team_id, demo_id, 'upstream', zone_id, name, type, 'drift', 'observed', clock_timestamp(),
             clock_timestamp() FROM done WHERE $14
    )
    SELECT id FROM done`,
};

// What never arrived needs no entry of its own, and is counted instead: in one statement, so that it is counted once.
const countEntry = {
  name: 'ledger-count-unsent',
  text: `
    WITH done AS (
      DELETE FROM dns_audit_entry WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
      RETURNING team_id, demo_id, actor, token_id, zone_id, name, type, operation, request_id
    )
    ${countUnsent('SELECT *, $3::text AS refusal_code FROM done')}`,
};

/** The ledger of writes under way: what makes quotas, order and the audit log hold across crashes and replicas. */
export const writeLedger = (pool: Pool, { quota, leaseMs, replayMs }: LedgerOptions) => ({
  /**
   * First transaction of a write: admits it against the quotas and records it as pending, before anything is sent.
   *
   * @param wasDelivered whether the client of an identical earlier write has its answer; only then is this a new one
   */
  begin(newWrite: NewWrite, wasDelivered: DeliveryCheck): Promise<BeginOutcome> {
    const { owner, tokenId, key, write, requestBody, requestHash } = newWrite;
    return inTransaction<BeginOutcome>(pool, async (tx) => {
      // Sent together, run in order: the second takes its snapshot once the lock is held.
      const [locked, { rows }] = await Promise.all([
        tx.query<{ live: boolean }>({ ...lockOwner[owner.kind], values: [owner.id] }),
        tx.query<Standing>({
          ...readStanding,
          values: [key.zoneId, key.name, key.type, ownerLabelOf(key.name), requestHash, owner.id, replayMs],
        }),
      ]);
      if (!locked.rows[0]?.live && write.operation !== 'delete') return { kind: 'ended' };
      const standing = rows[0] as Standing;
      if (standing.latest_state === 'pending') {
        const { latest_id: entryId, latest_identical: identical, latest_due: isDue } = standing;
        return { kind: 'busy', entryId: Number(entryId), identical: identical === true, isDue: isDue === true };
      }
      const replayed = replayOf(newWrite, standing, wasDelivered);
      if (replayed !== null) return replayed;
      const { admission, heldByActions } = admit(write, standing, quotaOf(owner, quota));
      if (admission.kind === 'refused') return { ...admission, heldByActions };
      const inserted = await tx.query<{ id: number }>({
        ...insertPending,
        values: [
          ...[owner.teamId, owner.kind === 'demo' ? owner.id : null, tokenId, key.zoneId, key.name, key.type],
          ...[write.operation, requestBody, requestHash, admission.reserve, leaseMs],
          newWrite.requestId,
        ],
      });
      const entryId = (inserted.rows[0] as { id: number }).id;
      const { recordsMax } = admission;
      return { kind: 'begun', lease: { entryId, fence: 1, current: standing.rrset, recordsMax } };
    });
  },

  /**
   * Second transaction: the outcome is known.
   *
   * @returns false when a settlement took over meanwhile: it wrote what it found, and nothing was written here
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
        ...[lease.entryId, lease.fence, end.state, end.status, end.body, end.recheck],
        ...[completed !== null, completed?.rrset ?? null, ownerLabelOf(key.name)],
        ...[recordCountOf(completed?.rrset ?? null)],
        ...[completed?.action?.id ?? null, completed?.action?.status ?? null, completed?.action?.body ?? null],
        completed?.wasRemoved ?? false,
        completed === null ? null : ceilingOf(lease, completed),
      ],
    });
    return rowCount === 1;
  },

  /**
   * The outcome is not known: the entry stays pending, keeps its reservation, and may be settled after a moment.
   *
   * @param answer what the client was told, where the upstream did say something
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

  /** The clients of these entries have their answers: a later identical request is a new one. */
  async markAnswered(entryIds: readonly number[]): Promise<void> {
    await pool.query('UPDATE dns_audit_entry SET answered = true WHERE id = ANY($1)', [entryIds]);
  },
});
export type WriteLedger = ReturnType<typeof writeLedger>;

/** Room that earlier writes free counts as taken while their actions may fail. */
function admit(write: RrsetWrite, standing: Standing, owner: OwnerQuota) {
  const { rrset, records, reserved, held_by_actions: held } = standing;
  const mirrored = recordCountOf(rrset);
  const ceiling = Math.max(mirrored, standing.ceiling ?? 0);
  const admission = decideAdmission(write, rrset, records + reserved + held, owner, ceiling);
  const isHeld = admission.kind === 'refused' && (held > 0 || ceiling > mirrored);
  const heldByActions = isHeld && decideAdmission(write, rrset, records + reserved, owner).kind === 'admitted';
  return { admission, heldByActions };
}

/** What an accepted write may leave of its set when its action fails, where that is more than when it succeeds. */
function ceilingOf({ recordsMax }: WriteLease, { rrset, action }: Extract<WriteEnd, { state: 'completed' }>) {
  return action?.status === 'running' && recordsMax > recordCountOf(rrset) ? recordsMax : null;
}

function quotaOf({ kind }: RrsetOwner, quota: RecordQuota): OwnerQuota {
  return { limit: kind === 'team' ? 'recordsPerTeam' : 'recordsPerDemo', quota };
}
