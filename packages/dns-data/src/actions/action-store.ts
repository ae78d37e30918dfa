import { inTransaction, type Pool } from '@corral/database';
import type { RrsetKey } from '../writes/rrset-write.js';
import { type ActionPage, type ActionPageLookUp, pageActions } from './action-page.js';

export interface ActionRecord {
  readonly id: number;
  /** `running`, `success` or `error`. */
  readonly status: string;
  /** Record set of the write that started the action. */
  readonly name: string;
  readonly type: string;
  /** The upstream's JSON text. */
  readonly body: string;
  readonly startedAt: Date;
  /** When the upstream last reported on it. */
  readonly checkedAt: Date;
}

/** The state of an action as the upstream reported it. */
export type ReportedAction = Pick<ActionRecord, 'id' | 'status' | 'body'>;

/** An accepted write whose action failed. */
export interface FailedWrite {
  readonly entryId: number;
  readonly key: RrsetKey;
}

interface FailedRow {
  id: number;
  zone_id: number;
  name: string;
  type: string;
}

/** Base for the ids of our own actions: far above the upstream's ids, and still a safe integer in JavaScript. */
export const OWN_ACTION_ID_BASE = 2 ** 52;

const columns = `action.id, action.status, entry.name, entry.type, action.body, action.started_at AS "startedAt",
                 action.checked_at AS "checkedAt"`;

const findOfOwner = {
  name: 'actions-of-owner',
  text: `SELECT ${columns}
         FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
         WHERE coalesce(action.demo_id, action.team_id) = $1 AND action.id = ANY($2::bigint[]) ORDER BY action.id`,
};

const findHolding = {
  name: 'actions-holding-room',
  text: `SELECT ${columns}
         FROM dns_audit_entry AS entry JOIN dns_action AS action ON action.audit_entry_id = entry.id
         WHERE coalesce(entry.demo_id, entry.team_id) = $1 AND entry.records_ceiling IS NOT NULL
           AND action.status = 'running' ORDER BY action.id`,
};

const recordStatement = `
  WITH reported AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t(id, status, body)
  ), locked AS MATERIALIZED (
    -- Fixed lock order, so that two processes recording the same actions cannot deadlock.
    SELECT id FROM dns_action WHERE id = ANY($1) AND status = 'running' ORDER BY id FOR UPDATE
  ), changed AS (
    UPDATE dns_action SET status = reported.status, body = reported.body, checked_at = clock_timestamp()
    FROM reported JOIN locked USING (id) WHERE dns_action.id = reported.id AND dns_action.status = 'running'
    RETURNING dns_action.audit_entry_id, reported.status, dns_action.started_at
  )
  UPDATE dns_audit_entry AS entry SET recheck_at = clock_timestamp()
  FROM changed
  WHERE entry.id = changed.audit_entry_id AND changed.status = 'error'
    AND changed.started_at > clock_timestamp() - interval '1 hour'
  RETURNING entry.id, zone_id, name, type`;

// The upstream applies writes to a set in order, so a later write's result depends on the earlier ones. Ceilings are
// released in that order. The ceiling of a failed action, or of a write that contradicted the mirror, and all that follow it, stay until
// the set has been read again.
const releaseStatement = `
  UPDATE dns_audit_entry AS entry SET records_ceiling = NULL
  FROM (
    SELECT DISTINCT entry.zone_id, entry.name, entry.type
    FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
    WHERE action.id = ANY($1::bigint[]) AND entry.records_ceiling IS NOT NULL
  ) AS reported
  WHERE entry.zone_id = reported.zone_id AND entry.name = reported.name AND entry.type = reported.type
    AND entry.records_ceiling IS NOT NULL
    AND NOT EXISTS (
      SELECT FROM dns_audit_entry AS earlier JOIN dns_action AS action ON action.audit_entry_id = earlier.id
      WHERE earlier.zone_id = entry.zone_id AND earlier.name = entry.name AND earlier.type = entry.type
        AND earlier.id <= entry.id AND earlier.records_ceiling IS NOT NULL
        AND (action.status <> 'success' OR earlier.recheck_at IS NOT NULL))`;

export const actionStore = (pool: Pool) => ({
  /** The requested actions that belong to the team or the demo, ordered by id. A demo's actions are not its team's. */
  async findActions(ownerId: string, ids: readonly number[]): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findOfOwner, values: [ownerId, ids] });
    return rows;
  },

  /** Reads one page of the owner's newest 1,000 actions. */
  pageActions(lookUp: ActionPageLookUp): Promise<ActionPage> {
    return pageActions(pool, lookUp);
  },

  /** Running actions whose failure would take back records that their writes freed. */
  async findHolding(ownerId: string): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findHolding, values: [ownerId] });
    return rows;
  },

  /**
   * Records the upstream's reports on actions.
   *
   * An action that failed changed nothing upstream although its write was accepted, so its record set is scheduled for
   * a recheck. Actions older than an hour are excluded: a zone sync has read their sets since. An action that succeeded
   * releases the records that its write freed.
   *
   * @returns the writes whose sets must be read again
   */
  async recordActions(reported: readonly ReportedAction[]): Promise<FailedWrite[]> {
    if (reported.length === 0) return [];
    const ids = reported.map((action) => action.id);
    const values = [ids, reported.map((action) => action.status), reported.map((action) => action.body)];
    const rows = await inTransaction(pool, async (tx) => {
      const failed = await tx.query<FailedRow>(recordStatement, values);
      await tx.query(releaseStatement, [ids]);
      return failed.rows;
    });
    return rows.map(({ id, zone_id: zoneId, name, type }) => ({ entryId: id, key: { zoneId, name, type } }));
  },
});
export type ActionStore = ReturnType<typeof actionStore>;

/** Ends an action as failed because the upstream never reported its end. Other members of the body are kept. */
export function timedOutAction({ id, body }: Pick<ActionRecord, 'id' | 'body'>, at: Date): ReportedAction {
  const message = 'The upstream did not report an end in time. Read the record set to see its state.';
  const ended = { status: 'error', finished: at.toISOString(), error: { code: 'timeout', message } };
  return { id, status: 'error', body: JSON.stringify({ ...JSON.parse(body), ...ended }) };
}
