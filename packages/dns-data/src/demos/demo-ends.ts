import { asTeamId, dnsLimits } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import type { RrsetKey, RrsetOwner } from '../writes/rrset-write.js';
import { isClear, noteDemo, ownerOfDemo, revokeTokens } from './demo-rows.js';

/** A record set that remains after its demo ended. */
export interface RemainingRrset {
  readonly owner: RrsetOwner;
  readonly key: RrsetKey;
}

interface RemainingRow {
  demo_id: string;
  team_id: string | null;
  zone_id: number;
  name: string;
  type: string;
}

/** Delay between attempts to delete a demo's records; doubles after each failure. */
const RETRY_SECONDS = 10;
const RETRY_SECONDS_MAX = 600;

const isOver = 'demo.ended_at IS NOT NULL AND demo.released_at IS NULL';
const leftOver = `demo JOIN dns_rrset AS rrset ON rrset.zone_id = demo.zone_id AND rrset.owner_label = demo.label`;

const isReleasable = `${isOver} AND ended_at <= ${rowClock} - make_interval(secs => ${dnsLimits.demoLabelHeldSeconds}) AND ${isClear}`;
const isToClear = `${isOver} AND demo.clear_at <= ${rowClock}
   AND NOT EXISTS (SELECT 1 FROM dns_audit_entry AS entry
                   WHERE entry.zone_id = rrset.zone_id AND entry.name = rrset.name AND entry.type = rrset.type
                     AND entry.state = 'pending')`;

/**
 * Ends demos and cleans up after them. The work is derived from the rows each time, so a crash loses nothing: either a
 * live demo's time is over, or an ended demo still has records in the mirror.
 */
export const demoEnds = (pool: Pool) => ({
  /**
   * Ends expired demos, the longest expired first. Their tokens have been refused since their expiry.
   *
   * @returns how many ended; fewer than `max` when no other is due, apart from rows that are locked now
   */
  async endExpired(max: number): Promise<number> {
    const { rows } = await pool.query<{ ended: number }>(
      `WITH due AS MATERIALIZED (
         SELECT id FROM demo WHERE ended_at IS NULL AND expires_at <= ${rowClock}
         ORDER BY expires_at, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
       ), ended AS (
         UPDATE demo SET ended_at = demo.expires_at, clear_at = clock_timestamp(), made_from = NULL
         FROM due WHERE demo.id = due.id
         RETURNING demo.id, demo.team_id, demo.zone_id, demo.label, demo.ended_at
       ), ${revokeTokens('ended')}, noted AS (
         ${noteDemo({ actor: `'service'`, tokenId: 'NULL', operation: `'expire'`, request: 'NULL', from: 'ended' })}
       )
       SELECT count(*)::int AS ended FROM ended`,
      [max],
    );
    return rows[0]?.ended ?? 0;
  },

  /** Record sets of ended demos without a pending write, the longest due first. */
  async listRemaining(max: number): Promise<RemainingRrset[]> {
    const { rows } = await pool.query<RemainingRow>(
      `SELECT demo.id AS demo_id, demo.team_id, rrset.zone_id, rrset.name, rrset.type FROM ${leftOver}
       WHERE ${isToClear}
       ORDER BY demo.clear_at, demo.id, rrset.name, rrset.type LIMIT $1`,
      [max],
    );
    return rows.map(remainingRrset);
  },

  /** Record sets of one ended demo, whether or not they are due. */
  async listRemainingOf(demoId: string): Promise<RemainingRrset[]> {
    const { rows } = await pool.query<RemainingRow>(
      `SELECT demo.id AS demo_id, demo.team_id, rrset.zone_id, rrset.name, rrset.type FROM ${leftOver}
       WHERE demo.id = $1 ORDER BY rrset.name, rrset.type`,
      [demoId],
    );
    return rows.map(remainingRrset);
  },

  /** Postpones a demo after a failed deletion, with exponential backoff. */
  async postpone({ id }: RrsetOwner): Promise<void> {
    await pool.query(
      `UPDATE demo SET clear_failures = clear_failures + 1,
                       clear_at = clock_timestamp()
                         + make_interval(secs => least($2, $3 * power(2, least(clear_failures, 10))))
       WHERE id = $1 AND clear_at <= ${rowClock}`,
      [id, RETRY_SECONDS_MAX, RETRY_SECONDS],
    );
  },

  /** Frees the labels of demos that ended an hour ago and have nothing left. @returns how many */
  async releaseLabels(): Promise<number> {
    const { rowCount } = await pool.query(`UPDATE demo SET released_at = clock_timestamp() WHERE ${isReleasable}`);
    return rowCount ?? 0;
  },

  /**
   * Age of the oldest overdue work, in seconds: an expired demo, or a record left by an ended one. 0 when none is due.
   */
  async readBacklogSeconds(): Promise<number> {
    const { rows } = await pool.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(since))::float8 AS seconds
       FROM (SELECT expires_at AS since FROM demo WHERE ended_at IS NULL AND expires_at <= ${rowClock}
             UNION ALL
             SELECT demo.ended_at FROM ${leftOver} WHERE ${isOver}) AS waiting`,
    );
    return rows[0]?.seconds ?? 0;
  },
});
export type DemoEnds = ReturnType<typeof demoEnds>;

function remainingRrset({ demo_id, team_id, zone_id, name, type }: RemainingRow): RemainingRrset {
  return {
    owner: ownerOfDemo({ id: demo_id, teamId: team_id === null ? null : asTeamId(team_id) }),
    key: { zoneId: zone_id, name, type },
  };
}
