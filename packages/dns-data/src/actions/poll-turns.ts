import { type Pool, rowClock } from '@corral/database';

export type PollTurn =
  /** This process polls these actions now; others wait until `endPoll`. */
  | { readonly kind: 'ours'; readonly ids: number[]; readonly until: Date }
  /** Another process is polling or has just polled. Try again after `waitMs`. */
  | { readonly kind: 'taken'; readonly waitMs: number };

export interface PollOptions {
  /** Shortest time between the starts of two polls. */
  readonly intervalMs: number;
  /** A poller that has not called `endPoll` after this time counts as dead. */
  readonly leaseMs: number;
  /** An action is polled while a client has asked for it within this time. */
  readonly wantedMs: number;
}

/** Upper bound of ids in one upstream call. */
const IDS_PER_POLL = 50;
/** An action that started or was checked less than this long ago does not trigger a call. */
const FRESH_MS = 2_000;

const takeStatement = {
  name: 'action-poll-turn',
  text: `
    WITH due AS MATERIALIZED (
      SELECT id FROM dns_action
      WHERE status = 'running' AND checked_at <= ${rowClock} - $2 * interval '1 ms'
        AND (id = ANY($1::bigint[]) OR wanted_at > clock_timestamp() - $4 * interval '1 ms')
      ORDER BY checked_at, id LIMIT ${IDS_PER_POLL}
    ), asked AS MATERIALIZED (
      -- Fixed lock order, without waiting. One update per second is enough.
      SELECT id FROM dns_action
      WHERE id = ANY($1::bigint[]) AND status = 'running'
        AND (wanted_at IS NULL OR wanted_at < clock_timestamp() - interval '1 second')
      ORDER BY id FOR UPDATE SKIP LOCKED
    ), wanted AS (
      UPDATE dns_action SET wanted_at = clock_timestamp() FROM asked WHERE dns_action.id = asked.id
    ), turn AS (
      INSERT INTO dns_action_poll AS poll (id, next_at)
      SELECT 1, clock_timestamp() + $3 * interval '1 ms' WHERE EXISTS (SELECT FROM due)
      ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at WHERE poll.next_at <= ${rowClock}
      RETURNING next_at
    )
    SELECT (SELECT next_at FROM turn) AS until, ARRAY(SELECT id FROM due) AS ids,
      (SELECT greatest(0, extract(epoch FROM next_at - clock_timestamp()) * 1000)::float8
       FROM dns_action_poll WHERE id = 1) AS "waitMs"`,
};

const lookUpStatement = {
  name: 'action-look-up-turn',
  text: `
    WITH due AS MATERIALIZED (
      SELECT id, body, clock_timestamp() - started_at > $2 * interval '1 ms' AS overdue,
             checked_at <= clock_timestamp() - ${FRESH_MS} * interval '1 ms' AS is_due
      FROM dns_action WHERE status = 'running'
      ORDER BY is_due DESC, started_at DESC, id DESC LIMIT ${IDS_PER_POLL}
    ), turn AS (
      INSERT INTO dns_action_poll AS poll (id, next_at)
      SELECT 2, clock_timestamp() + $1 * interval '1 ms' WHERE EXISTS (SELECT FROM due WHERE is_due)
      ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at WHERE poll.next_at <= ${rowClock}
      RETURNING next_at
    )
    SELECT id, body, overdue FROM due WHERE EXISTS (SELECT FROM turn)`,
};

const endStatement = {
  name: 'action-poll-end',
  text: `
    WITH asked AS MATERIALIZED (
      SELECT id FROM dns_action WHERE id = ANY($2::bigint[]) AND status = 'running' ORDER BY id FOR UPDATE
    ), checked AS (
      UPDATE dns_action SET checked_at = clock_timestamp() FROM asked WHERE dns_action.id = asked.id
    )
    UPDATE dns_action_poll SET next_at = clock_timestamp() + $3 * interval '1 ms' WHERE id = 1 AND next_at = $1`,
};

const checkedStatement = {
  name: 'actions-checked',
  text: `SELECT id, status = 'running' AS "isRunning", checked_at AS "checkedAt" FROM dns_action
         WHERE id = ANY($1::bigint[])`,
};

/** A running action. Its end has not been recorded. */
export interface UnfinishedAction {
  readonly id: number;
  /** The upstream's JSON text. */
  readonly body: string;
  /** It has run so long that it counts as failed unless the upstream says otherwise. */
  readonly overdue: boolean;
}

export interface CheckedAction {
  readonly id: number;
  readonly isRunning: boolean;
  readonly checkedAt: Date;
}

/** Elects the process that polls the upstream for actions, one at a time on behalf of all. */
export const pollTurns = (pool: Pool) => ({
  /**
   * Records that clients wait for these actions, and takes the turn if it is free and an action is due. Due are the
   * actions that clients of any process wait for; the one checked longest ago comes first.
   */
  async takePoll(wanted: readonly number[], options: PollOptions): Promise<PollTurn> {
    const { intervalMs, leaseMs, wantedMs } = options;
    const { rows } = await pool.query<{ until: Date | null; ids: string[]; waitMs: number | null }>({
      ...takeStatement,
      values: [wanted, intervalMs, leaseMs, wantedMs],
    });
    const { until = null, ids = [], waitMs = null } = rows[0] ?? {};
    if (until !== null) return { kind: 'ours', ids: ids.map(Number), until };
    return { kind: 'taken', waitMs: waitMs ?? 0 };
  },

  /**
   * Takes the turn to look up actions without waiting clients: at most one call per `intervalMs` across all processes.
   * Actions that are due come first, then the newest: a zone sync has already read the sets of older ones. Fresh
   * actions fill the remaining room.
   *
   * @returns at most as many actions as one call can ask for; empty when none is due or the turn is taken
   */
  async takeLookUp(intervalMs: number, overdueMs: number): Promise<UnfinishedAction[]> {
    return (await pool.query<UnfinishedAction>({ ...lookUpStatement, values: [intervalMs, overdueMs] })).rows;
  },

  /**
   * Ends a turn. Has no effect on the turn of another process that took over.
   *
   * @param until of the turn
   * @param asked the ids the call asked for; an id that the upstream did not mention also moves to the end of the queue
   * @param restMs time until the next turn
   */
  async endPoll(until: Date, asked: readonly number[], restMs: number): Promise<void> {
    await pool.query({ ...endStatement, values: [until, asked, restMs] });
  },

  /** When the upstream was last asked for these actions, by any process. */
  async findChecked(ids: readonly number[]): Promise<CheckedAction[]> {
    return (await pool.query<CheckedAction>({ ...checkedStatement, values: [ids] })).rows;
  },
});
export type PollTurns = ReturnType<typeof pollTurns>;
