import { retentionLimits, type TeamId } from '@corral/contracts';
import type { Pool } from '@corral/database';

/** Margin, so that no minute of an hour is deleted while it is added up. */
const REQUEST_COUNT_MINUTES = retentionLimits.requestCountMinutes - 10;
/** A write whose outcome is still unknown keeps its hour open for this time at most. */
const OPEN_HOURS_MAX = 20;

const SHOWS_ACTIVITY = `
  EXISTS (SELECT FROM usage_hour WHERE usage_hour.hour = passed.hour AND sampled_at IS NOT NULL)
  OR EXISTS (SELECT FROM dns_request_count WHERE minute >= passed.hour AND minute < passed.hour + interval '1 hour')
  OR EXISTS (SELECT FROM dns_audit_entry
             WHERE created_at >= passed.hour AND created_at < passed.hour + interval '1 hour')`;

/** The requests and writes of each hour, from the counts of minutes and the DNS audit log. */
export const counterStore = (pool: Pick<Pool, 'query'>) => ({
  /**
   * The current hour and earlier ones that may have to be added up, back to the first recorded hour. An hour in which the whole
   * installation left no trace is a gap, because zeros would claim that it ran.
   */
  async openHours(now: Date): Promise<readonly Date[]> {
    const { rows } = await pool.query<{ hour: Date }>(
      `WITH clock AS MATERIALIZED (SELECT date_trunc('hour', $2::timestamptz, 'UTC') AS current)
       SELECT passed.hour
       FROM clock, generate_series(
         greatest(current - make_interval(hours => $1), coalesce((SELECT min(hour) FROM usage_hour), current)),
         current, interval '1 hour') AS passed(hour)
       WHERE passed.hour = current OR ${SHOWS_ACTIVITY}
       ORDER BY 1`,
      [retentionLimits.usageCatchUpHours, now],
    );
    return rows.map(({ hour }) => hour);
  },

  /**
   * Adds up the counters of these hours for teams that existed then. Final hours stay as they are, so it can be repeated, and run
   * concurrently, at any time.
   *
   * @returns the number of rows written
   */
  async count(teamIds: readonly TeamId[], hours: readonly Date[], now: Date): Promise<number> {
    const { rowCount } = await pool.query({
      text: `
        WITH clock AS MATERIALIZED (SELECT $5::timestamptz AS now),
        open AS MATERIALIZED (
          SELECT team.id AS team_id, passed.hour, passed.hour + interval '1 hour' AS until
          FROM team CROSS JOIN unnest($2::timestamptz[]) AS passed(hour)
          LEFT JOIN usage_hour AS known ON known.team_id = team.id AND known.hour = passed.hour
          WHERE team.id = ANY ($1::uuid[]) AND team.created_at < passed.hour + interval '1 hour'
            AND known.is_final IS NOT TRUE
        )
        INSERT INTO usage_hour AS known (team_id, hour, counted_at, is_final, requests, writes, refused_writes)
        SELECT open.team_id, open.hour, now,
               now >= until + make_interval(secs => $4)
                 AND (pending = 0 OR now >= until + make_interval(hours => ${OPEN_HOURS_MAX})),
               CASE WHEN open.hour >= now - make_interval(mins => $3) THEN requests END, writes, refused
        FROM clock CROSS JOIN open
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(count), 0)::int AS requests FROM dns_request_count
          WHERE team_id = open.team_id AND minute >= open.hour AND minute < until
        ) AS requested
        CROSS JOIN LATERAL (
          SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
                 coalesce(sum(count) FILTER (WHERE took_effect), 0)::int AS writes,
                 coalesce(sum(count) FILTER (WHERE state <> 'pending' AND NOT took_effect), 0)::int AS refused
          FROM (SELECT state, count, state = 'completed' OR (state = 'settled' AND found_applied IS TRUE) AS took_effect
                FROM dns_audit_entry
                WHERE team_id = open.team_id AND created_at >= open.hour AND created_at < until
                  AND actor = 'token' AND type <> 'DEMO') AS written
        ) AS written
        ORDER BY open.team_id, open.hour
        ON CONFLICT (team_id, hour) DO UPDATE
        SET counted_at = excluded.counted_at, is_final = excluded.is_final, writes = excluded.writes,
            refused_writes = excluded.refused_writes,
            requests = CASE WHEN excluded.requests IS NOT NULL THEN excluded.requests
                            WHEN known.counted_at >= known.hour + interval '1 hour' + make_interval(secs => $4)
                            THEN known.requests END
        WHERE NOT known.is_final AND (known.counted_at IS NULL OR known.counted_at <= excluded.counted_at)`,
      values: [teamIds, hours, REQUEST_COUNT_MINUTES, retentionLimits.usageDelaySeconds, now],
    });
    return rowCount ?? 0;
  },
});
export type CounterStore = ReturnType<typeof counterStore>;
