import { inTransaction, type Pool } from '@corral/database';
import { type ActionPage, type ActionPageLookUp, pageActions } from './action-page.js';
import type { RrsetKey } from './rrset-write.js';

export interface ActionRecord {
  readonly id: number;
  /** `running`, `success` or `error`. */
  readonly status: string;
  /** The record set that it is about. */
  readonly name: string;
  readonly type: string;
  /** The upstream's JSON text. */
  readonly body: string;
  readonly startedAt: Date;
  /** When the upstream last told. */
  readonly checkedAt: Date;
}

/** What the upstream told about an action. */
export type ToldAction = Pick<ActionRecord, 'id' | 'status' | 'body'>;

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

/** Ids of actions that the upstream never made: far above its own, still exact in every client's number type. */
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
  WITH told AS (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t(id, status, body)
  ), locked AS MATERIALIZED (
    -- In one order, so that two processes that are told of the same actions never wait for each other.
    SELECT id FROM dns_action WHERE id = ANY($1) AND status = 'running' ORDER BY id FOR UPDATE
  ), changed AS (
    UPDATE dns_action SET status = told.status, body = told.body, checked_at = clock_timestamp()
    FROM told JOIN locked USING (id) WHERE dns_action.id = told.id AND dns_action.status = 'running'
    RETURNING dns_action.audit_entry_id, told.status, dns_action.started_at
  )
  UPDATE dns_audit_entry AS entry SET recheck_at = clock_timestamp()
  FROM changed
  WHERE entry.id = changed.audit_entry_id AND changed.status = 'error'
    AND changed.started_at > clock_timestamp() - interval '1 hour'
  RETURNING entry.id, zone_id, name, type`;

// Writes to a set have their effects one after the other: what one may leave depends on those before it. So ceilings go
// in their order; one whose action failed stays, with all that follow it, until the set was read.
const releaseStatement = `
  UPDATE dns_audit_entry AS entry SET records_ceiling = NULL
  FROM (
    SELECT DISTINCT entry.zone_id, entry.name, entry.type
    FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
    WHERE action.id = ANY($1::bigint[]) AND entry.records_ceiling IS NOT NULL
  ) AS told
  WHERE entry.zone_id = told.zone_id AND entry.name = told.name AND entry.type = told.type
    AND entry.records_ceiling IS NOT NULL
    AND NOT EXISTS (
      SELECT FROM dns_audit_entry AS earlier JOIN dns_action AS action ON action.audit_entry_id = earlier.id
      WHERE earlier.zone_id = entry.zone_id AND earlier.name = entry.name AND earlier.type = entry.type
        AND earlier.id <= entry.id AND earlier.records_ceiling IS NOT NULL AND action.status <> 'success')`;

export const actionStore = (pool: Pool) => ({
  /** Those of the asked actions that are the team's or the demo's, by id. A demo's are not its team's. */
  async findActions(ownerId: string, ids: readonly number[]): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findOfOwner, values: [ownerId, ids] });
    return rows;
  },

  /** One page of an owner's actions, the newest 10,000 of them. */
  pageActions(lookUp: ActionPageLookUp): Promise<ActionPage> {
    return pageActions(pool, lookUp);
  },

  /** The actions that may still fail and then take back room that their writes have freed. */
  async findHolding(ownerId: string): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findHolding, values: [ownerId] });
    return rows;
  },

  /**
   * Records what the upstream told about actions. One that ended in an error changed nothing upstream, though its
   * write was accepted: its record set is to be read again, unless a walk over the zone has done that since. One that
   * succeeded frees what its write has given up.
   *
   * @returns the writes whose sets are to be read again
   */
  async recordActions(told: readonly ToldAction[]): Promise<FailedWrite[]> {
    if (told.length === 0) return [];
    const ids = told.map((action) => action.id);
    const values = [ids, told.map((action) => action.status), told.map((action) => action.body)];
    const rows = await inTransaction(pool, async (tx) => {
      const [failed] = await Promise.all([
        tx.query<FailedRow>(recordStatement, values),
        tx.query(releaseStatement, [ids]),
      ]);
      return failed.rows;
    });
    return rows.map(({ id, zone_id: zoneId, name, type }) => ({ entryId: id, key: { zoneId, name, type } }));
  },
});
export type ActionStore = ReturnType<typeof actionStore>;

/** The end of an action that the upstream never ended. Its other members stay as stated. */
export function givenUp({ id, body }: Pick<ActionRecord, 'id' | 'body'>, at: Date): ToldAction {
  const message = 'The upstream did not report an end in time. Read the record set to see its state.';
  const ended = { status: 'error', finished: at.toISOString(), error: { code: 'timeout', message } };
  return { id, status: 'error', body: JSON.stringify({ ...JSON.parse(body), ...ended }) };
}
