import {
  clusterColumns,
  type DeclaredRow,
  type NodeCounts,
  type NodePoolRow,
  type ObservedRow,
  type PricesRow,
  poolSpecOf,
  poolsOfCluster,
  priceColumns,
  pricesOf,
  seenOf,
  selectOf,
  storedSpecOf,
} from '@corral/cluster-data';
import { asTeamId, type TeamId } from '@corral/contracts';
import { type Pool, rowClock } from '@corral/database';
import { recordsOfTeam } from '@corral/dns-data';
import type { ClusterUsage, UsedCluster } from './sample.js';

/** What a team has at one moment. */
export interface Sample extends ClusterUsage {
  readonly teamId: TeamId;
  readonly sampledAt: Date;
  readonly records: number;
  readonly dnsTokens: number;
}

type DnsSample = Pick<Sample, 'teamId' | 'sampledAt' | 'records' | 'dnsTokens'>;

interface ClusterRow extends DeclaredRow, ObservedRow, PricesRow {
  readonly teamId: string;
  readonly nodeCounts: unknown;
  readonly pools: readonly NodePoolRow[];
}

const NO_TEAM = '00000000-0000-0000-0000-000000000000';

/** The current state of teams, for samples. */
export const sampleStore = (pool: Pick<Pool, 'query'>) => ({
  /** The database's clock. */
  async readClock(): Promise<Date> {
    const { rows } = await pool.query<{ now: Date }>(`SELECT ${rowClock} AS now`);
    return (rows[0] as { now: Date }).now;
  },

  /** Ids of the next teams, in their order. @param after null for the first ones */
  async listTeams(after: TeamId | null, limit: number): Promise<readonly TeamId[]> {
    const { rows } = await pool.query<{ id: string }>('SELECT id FROM team WHERE id > $1::uuid ORDER BY id LIMIT $2', [
      after ?? NO_TEAM,
      limit,
    ]);
    return rows.map(({ id }) => asTeamId(id));
  },

  async readDns(teamIds: readonly TeamId[], now: Date): Promise<readonly DnsSample[]> {
    const { rows } = await pool.query<Omit<DnsSample, 'teamId' | 'sampledAt'> & { readonly teamId: string }>({
      text: `
        SELECT team.id AS "teamId",
               ${recordsOfTeam('team.slug')} AS records,
               (SELECT count(*)::int FROM dns_token
                WHERE team_id = team.id AND session_id IS NULL AND revoked_at IS NULL
                  AND (expires_at IS NULL OR expires_at > $2)) AS "dnsTokens"
        FROM team WHERE team.id = ANY ($1::uuid[]) ORDER BY team.id`,
      values: [teamIds, now],
    });
    return rows.map((row) => ({ ...row, teamId: asTeamId(row.teamId), sampledAt: now }));
  },

  async readClusters(teamIds: readonly TeamId[]): Promise<ReadonlyMap<TeamId, readonly UsedCluster[]>> {
    const { rows } = await pool.query<ClusterRow>({
      text: `
        SELECT cluster.team_id AS "teamId", ${selectOf('cluster', { ...clusterColumns.declared, ...clusterColumns.observed })},
               cluster.node_counts AS "nodeCounts", ${selectOf('price_list', priceColumns)}, ${poolsOfCluster} AS pools
        FROM cluster LEFT JOIN price_list ON price_list.connection_id = cluster.connection_id
        WHERE cluster.team_id = ANY ($1::uuid[])`,
      values: [teamIds],
    });
    const byTeam = new Map<TeamId, UsedCluster[]>(teamIds.map((id) => [id, []]));
    for (const row of rows) byTeam.get(asTeamId(row.teamId))?.push(usedCluster(row));
    return byTeam;
  },

  /**
   * Writes samples into their hours. A late sample does not replace a newer one.
   *
   * @param recordsLimit the quota of teams without one of their own
   * @returns the number of teams
   */
  async write(samples: readonly Sample[], recordsLimit: number): Promise<number> {
    const columnOf = <T>(of: (sample: Sample) => T): T[] => samples.map(of);
    const { rowCount } = await pool.query({
      text: `
        INSERT INTO usage_hour AS known (team_id, hour, sampled_at, records_limit, records, dns_tokens, clusters, nodes,
                                         cost_minimum, cost_maximum, cost_currency)
        SELECT team.id, date_trunc('hour', sampled_at, 'UTC'), sampled_at, coalesce(team.dns_records_max, $2::int), records, dns_tokens, clusters, nodes,
               cost_minimum, cost_maximum, cost_currency
        FROM unnest($1::uuid[], $3::timestamptz[], $4::int[], $5::int[], $6::int[], $7::int[], $8::text[], $9::text[],
                    $10::text[])
          AS sample(team_id, sampled_at, records, dns_tokens, clusters, nodes, cost_minimum, cost_maximum, cost_currency)
        JOIN team ON team.id = sample.team_id
        ORDER BY team.id
        ON CONFLICT (team_id, hour) DO UPDATE
        SET sampled_at = excluded.sampled_at, records_limit = excluded.records_limit, records = excluded.records,
            dns_tokens = excluded.dns_tokens, clusters = excluded.clusters, nodes = excluded.nodes,
            cost_minimum = excluded.cost_minimum, cost_maximum = excluded.cost_maximum,
            cost_currency = excluded.cost_currency
        WHERE known.sampled_at IS NULL OR known.sampled_at < excluded.sampled_at`,
      values: [
        columnOf(({ teamId }) => teamId),
        recordsLimit,
        columnOf(({ sampledAt }) => sampledAt),
        columnOf(({ records }) => records),
        columnOf(({ dnsTokens }) => dnsTokens),
        columnOf(({ clusters }) => clusters),
        columnOf(({ nodes }) => nodes),
        columnOf(({ cost }) => cost?.minimum ?? null),
        columnOf(({ cost }) => cost?.maximum ?? null),
        columnOf(({ cost }) => cost?.currency ?? null),
      ],
    });
    return rowCount ?? 0;
  },
});
export type SampleStore = ReturnType<typeof sampleStore>;

function usedCluster(row: ClusterRow): UsedCluster {
  const { phase, observed } = seenOf(row);
  return {
    spec: { ...storedSpecOf(row), nodePools: row.pools.map(poolSpecOf) },
    prices: pricesOf(row),
    phase,
    observed,
    nodeCounts: row.nodeCounts as NodeCounts | null,
  };
}
