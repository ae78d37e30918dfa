import { retentionLimits, type TeamId } from '@corral/contracts';
import { type Pool, readClock } from '@corral/database';
import { withSignal } from '../loop/work.js';
import type { Services } from '../services.js';
import { clusterUsageOf, type SampleStore, sampleStore } from './usage.js';

/** Teams per statement: their clusters are in memory together. */
const TEAMS_AT_ONCE = 100;

interface RecordUsageDeps {
  readonly counters: CounterStore;
  readonly samples: SampleStore;
  /** The database's clock, as hours are those of all replicas. */
  readonly now: () => Promise<Date>;
  /** The quota of records per team. */
  readonly recordsLimit: number;
  /** Called after each group of teams, with its size. */
  readonly onRecorded: (teams: number) => void;
}

/**
 * Records what all teams have now, and adds up their counters of this hour and of earlier ones that are not final. Each statement is
 * complete by itself, so a run may end anywhere, and any number of runs may overlap: the next one does what is left.
 *
 * @returns the number of recorded teams
 */
export const recordUsage =
  ({ counters, samples, now, recordsLimit, onRecorded }: RecordUsageDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    const hours = await counters.openHours(await now());
    let recorded = 0;
    for await (const teams of groupsOfTeams(samples, signal)) {
      const at = await now();
      await recordSamples(samples, { teams, at, recordsLimit });
      await counters.count(teams, hours, at);
      recorded += teams.length;
      onRecorded(teams.length);
    }
    return recorded;
  };

async function* groupsOfTeams(samples: SampleStore, signal: AbortSignal): AsyncGenerator<readonly TeamId[], void> {
  let after: TeamId | null = null;
  while (!signal.aborted) {
    const teams: readonly TeamId[] = await samples.listTeams(after, TEAMS_AT_ONCE);
    if (teams.length > 0) yield teams;
    if (teams.length < TEAMS_AT_ONCE) return;
    after = teams.at(-1) ?? null;
  }
}

interface SampleRun {
  readonly teams: readonly TeamId[];
  readonly at: Date;
  readonly recordsLimit: number;
}

async function recordSamples(samples: SampleStore, { teams, at, recordsLimit }: SampleRun): Promise<void> {
  const dns = await samples.readDns(teams, at);
  const clusters = await samples.readClusters(teams);
  await samples.write(
    dns.map((sample) => ({ ...sample, ...clusterUsageOf(clusters.get(sample.teamId) ?? []) })),
    recordsLimit,
  );
  await samples.recordSleep([...clusters.values()].flat(), at);
}

export interface UsageOptions {
  readonly settings: {
    /** The quota of DNS records per team. */
    readonly recordsLimit: number;
  };
}

/** Wires the recording of usage. */
export function buildUsageWorkers(services: Services, { settings }: UsageOptions) {
  const { pool, prisma, metrics } = services;
  const recorded = metrics.counter({
    name: 'corral_usage_recorded_total',
    help: 'Teams whose usage was recorded. Each run records all teams',
  });
  const record = recordUsage({
    counters: counterStore(pool),
    samples: sampleStore(services),
    now: () => readClock(prisma),
    recordsLimit: settings.recordsLimit,
    onRecorded: (teams) => recorded.inc(teams),
  });
  return { handlers: { 'record-usage': withSignal(record) } };
}

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
export const counterStore = (pool: Pool) => ({
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
type CounterStore = ReturnType<typeof counterStore>;
