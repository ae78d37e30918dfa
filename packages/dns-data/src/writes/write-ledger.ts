import { type DnsErrorCode, ownerLabelOf } from '@corral/contracts';
import type { Pool } from '@corral/database';
import { recordCountOf } from '../mirror/rrset-body.js';
import { beginWrite } from './begin-write.js';
import type { DeliveryCheck } from './copies.js';
import type { BeginOutcome, LedgerOptions, NewWrite, WriteLease } from './new-write.js';
import { countUnsent } from './refused-writes.js';
import type { RrsetKey } from './rrset-write.js';

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

/** What the outcome of a write changes beside its entry. */
type Changes = readonly ('kept' | 'gone' | 'started' | 'drifted')[];

const finishEntries = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * One statement, so entry, mirror and action change atomically. A settlement that took over the lease has raised the fence, and then nothing
 * here takes effect. Contains only what changes, because Postgres prepares to execute every part, also one that finds no rows.
 *
 * Values: those of the entry, `$8` the body afterwards; label and count of `kept`; id, status and body of `started`.
 */
function finishEntry(changes: Changes): { readonly name: string; readonly text: string } {
  const name = ['ledger-finish', ...changes].join('-');
  const known = finishEntries.get(name);
  if (known !== undefined) return known;
  const [id, status, body] = changes.includes('kept') ? ['$11', '$12', '$13'] : ['$9', '$10', '$11'];
  const parts = {
    kept: `
      INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
      SELECT zone_id, name, type, $9, $10, $8 FROM done
      ON CONFLICT (zone_id, name, type) DO UPDATE
      SET record_count = excluded.record_count, body = excluded.body, updated_at = clock_timestamp()`,
    gone: `
      DELETE FROM dns_rrset USING done
      WHERE dns_rrset.zone_id = done.zone_id AND dns_rrset.name = done.name AND dns_rrset.type = done.type`,
    started: `
      INSERT INTO dns_action (id, team_id, demo_id, audit_entry_id, status, body)
      SELECT ${id}::bigint, team_id, demo_id, id, ${status}, ${body} FROM done
      ON CONFLICT (id) DO NOTHING`,
    drifted: `
      INSERT INTO dns_audit_entry (team_id, demo_id, actor, zone_id, name, type, operation, state, created_at,
                                   completed_at, before_body)
      SELECT team_id, demo_id, 'upstream', zone_id, name, type, 'drift', 'observed', clock_timestamp(),
             clock_timestamp(), before_body FROM done`,
  };
  const text = `
    WITH done AS (
      UPDATE dns_audit_entry
      SET state = $3::dns_audit_state, upstream_status = $4, upstream_body = $5, reserved_records = 0,
          records_ceiling = $7, lease_until = NULL, completed_at = clock_timestamp(), after_body = $8,
          recheck_at = CASE WHEN $6 THEN clock_timestamp() END
      WHERE id = $1 AND lease_fence = $2 AND state = 'pending'
      RETURNING id, team_id, demo_id, zone_id, name, type, before_body
    )${changes.map((change) => `, ${change} AS (${parts[change]}\n    )`).join('')}
    SELECT id FROM done`;
  finishEntries.set(name, { name, text });
  return { name, text };
}

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
export const writeLedger = (pool: Pool, options: LedgerOptions) => ({
  /** First transaction of a write: see `beginWrite`. */
  begin: (newWrite: NewWrite, wasDelivered: DeliveryCheck): Promise<BeginOutcome> =>
    beginWrite(pool, options, newWrite, wasDelivered),

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
    const { changes, values } = completed === null ? NOTHING : changesOf(key, completed);
    const { rowCount } = await pool.query({
      ...finishEntry(changes),
      values: [
        lease.entryId,
        lease.fence,
        end.state,
        end.status,
        end.body,
        end.recheck,
        completed === null ? null : ceilingOf(lease, completed),
        completed?.rrset ?? null,
        ...values,
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

type Completed = Extract<WriteEnd, { state: 'completed' }>;

const NOTHING = { changes: [], values: [] };

/** What an accepted write changes, and the values of these parts of the statement. Pure. */
function changesOf(key: RrsetKey, { rrset, action, wasRemoved = false }: Completed) {
  const changes: Changes = [
    rrset === null ? 'gone' : 'kept',
    ...(action === null ? [] : (['started'] as const)),
    ...(wasRemoved ? (['drifted'] as const) : []),
  ];
  const values = [
    ...(rrset === null ? [] : [ownerLabelOf(key.name), recordCountOf(rrset)]),
    ...(action === null ? [] : [action.id, action.status, action.body]),
  ];
  return { changes, values };
}

/**
 * The most records that the set may have while it is not certain that this write and earlier ones took effect. Null when the mirror has
 * no fewer, or when it is certain.
 */
function ceilingOf({ operation, recordsMax }: WriteLease, { rrset, action }: Completed): number | null {
  if (action === null || action.status === 'error') return null;
  // Records were added to those of earlier writes, whatever became of these. Other writes add none, or state all of the set.
  const isCertain = action.status === 'success' && operation !== 'add_records';
  return !isCertain && recordsMax > recordCountOf(rrset) ? recordsMax : null;
}
