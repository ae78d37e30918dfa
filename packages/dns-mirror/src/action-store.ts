import type { Pool } from '@corral/database';

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

/** Ids of actions that the upstream never made: far above its own, still exact in every client's number type. */
export const OWN_ACTION_ID_BASE = 2 ** 52;

const findOfOwner = {
  name: 'actions-of-owner',
  text: `SELECT action.id, action.status, entry.name, entry.type, action.body, action.started_at AS "startedAt",
                action.checked_at AS "checkedAt"
         FROM dns_action AS action JOIN dns_audit_entry AS entry ON entry.id = action.audit_entry_id
         WHERE coalesce(action.demo_id, action.team_id) = $1 AND action.id = ANY($2::bigint[]) ORDER BY action.id`,
};

export const actionStore = (pool: Pool) => ({
  /** Those of the asked actions that are the team's or the demo's, by id. A demo's are not its team's. */
  async findActions(ownerId: string, ids: readonly number[]): Promise<ActionRecord[]> {
    const { rows } = await pool.query<ActionRecord>({ ...findOfOwner, values: [ownerId, ids] });
    return rows;
  },

  /**
   * Records what the upstream told about actions. One that ended in an error changed nothing upstream, though its
   * write was accepted: its record set is read again.
   */
  async recordActions(told: readonly { id: number; status: string; body: string }[]): Promise<void> {
    if (told.length === 0) return;
    await pool.query(
      `WITH told AS (
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t(id, status, body)
       ), locked AS MATERIALIZED (
         -- In one order, so that two processes that are told of the same actions never wait for each other.
         SELECT id FROM dns_action WHERE id = ANY($1) AND status = 'running' ORDER BY id FOR UPDATE
       ), changed AS (
         UPDATE dns_action SET status = told.status, body = told.body, checked_at = clock_timestamp()
         FROM told JOIN locked USING (id) WHERE dns_action.id = told.id AND dns_action.status = 'running'
         RETURNING dns_action.audit_entry_id, told.status
       )
       UPDATE dns_audit_entry SET recheck_at = clock_timestamp()
       FROM changed WHERE dns_audit_entry.id = changed.audit_entry_id AND changed.status = 'error'`,
      [told.map((action) => action.id), told.map((action) => action.status), told.map((action) => action.body)],
    );
  },
});
export type ActionStore = ReturnType<typeof actionStore>;
