import type { Pool } from '@corral/database';
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

const findOfOwner = {
  name: 'actions-of-owner',
  text: `SELECT action.id, action.status, entry.name, entry.type, action.body, action.started_at AS "startedAt",
                action.checked_at AS "checkedAt"
         FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
         WHERE coalesce(action.demo_id, action.team_id) = $1 AND action.id = ANY($2::bigint[]) ORDER BY action.id`,
};

const findHolding = {
  name: 'actions-holding-room',
  text: `SELECT action.id, action.status, entry.name, entry.type, action.body, action.started_at AS "startedAt",
                action.checked_at AS "checkedAt"
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
    RETURNING dns_action.audit_entry_id, told.status,
              told.status = 'error' AND dns_action.started_at > clock_timestamp() - interval '1 hour' AS looks_again
  ), entry AS (
    UPDATE dns_audit_entry
    SET recheck_at = CASE WHEN looks_again THEN clock_timestamp() ELSE recheck_at END,
        records_ceiling = CASE WHEN looks_again THEN records_ceiling END
    FROM changed
    WHERE dns_audit_entry.id = changed.audit_entry_id AND changed.status <> 'running'
      AND (looks_again OR records_ceiling IS NOT NULL)
    RETURNING dns_audit_entry.id, zone_id, name, type, looks_again
  )
  SELECT id, zone_id, name, type FROM entry WHERE looks_again`;

export const actionStore = (pool: Pool) => ({
  /** Those of the asked actions that are the team's or the demo's, by id. A demo's are not its team's. */
  async findActions(ownerId: string, ids: readonly number[]): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findOfOwner, values: [ownerId, ids] });
    return rows;
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
    const { rows } = await pool.query<FailedRow>(recordStatement, [
      told.map((action) => action.id),
      told.map((action) => action.status),
      told.map((action) => action.body),
    ]);
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
