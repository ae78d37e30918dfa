import {
  clusterColumns,
  costOf,
  type DeclaredRow,
  type KnownPrices,
  type NodeCounts,
  type NodePoolRow,
  type ObservedRow,
  type PricesRow,
  poolSpecOf,
  poolsOfCluster,
  priceColumns,
  pricesOf,
  savedPerHourOf,
  seenOf,
  selectOf,
  storedSpecOf,
} from '@corral/cluster-data';
import { asTeamId, type ClusterSpec, type Cost, type ObservedCluster, type TeamId } from '@corral/contracts';
import { recordsOfTeam } from '@corral/dns-data';
import Big from 'big.js';
import type { Database } from '../services.js';

/** A cluster as far as usage depends on it. */
export interface UsedCluster {
  readonly spec: ClusterSpec;
  readonly prices: KnownPrices | null;
  readonly phase: string;
  readonly observed: ObservedCluster | null;
  readonly nodeCounts: NodeCounts | null;
}

interface SleepingCluster extends UsedCluster {
  readonly id: string;
  /** The time when the last recording found it hibernated; null while it is awake. */
  readonly sleptAt: Date | null;
}

interface ClusterUsage {
  readonly clusters: number;
  /** Null if the nodes of one cluster are unknown. */
  readonly nodes: number | null;
  /** Net, per month. Null if one price is unknown, or the clusters have prices in several currencies. */
  readonly cost: { readonly minimum: string; readonly maximum: string; readonly currency: string | null } | null;
}

/** Adds up what the clusters of a team use. Without clusters, the cost is zero and has no currency. */
export const clusterUsageOf = (clusters: readonly UsedCluster[]): ClusterUsage => ({
  clusters: clusters.length,
  nodes: nodesOf(clusters),
  cost: totalOf(clusters.map(({ spec, prices }) => costOf(spec, prices))),
});

/** Whether there is one to read nodes from. */
export const hasApiServer = ({ phase, observed }: Pick<UsedCluster, 'phase' | 'observed'>): boolean =>
  (observed?.apiServer ?? null) !== null && phase !== 'Hibernated';

function nodesOf(clusters: readonly UsedCluster[]): number | null {
  let sum = 0;
  for (const { nodeCounts, ...seen } of clusters) {
    if (nodeCounts === null && hasApiServer(seen)) return null;
    sum += Object.values(nodeCounts ?? {}).reduce((total, { total: nodes }) => total + nodes, 0);
  }
  return sum;
}

function totalOf(costs: readonly Cost[]): ClusterUsage['cost'] {
  const currencies = new Set(costs.map(({ currency }) => currency));
  if (currencies.size > 1) return null;
  let [minimum, maximum] = [new Big(0), new Big(0)];
  for (const { monthly } of costs) {
    if (monthly.minimum === null || monthly.maximum === null) return null;
    minimum = minimum.plus(monthly.minimum);
    maximum = maximum.plus(monthly.maximum);
  }
  return { minimum: minimum.toFixed(), maximum: maximum.toFixed(), currency: [...currencies][0] ?? null };
}

/** What a team has at one moment. */
interface Sample extends ClusterUsage {
  readonly teamId: TeamId;
  readonly sampledAt: Date;
  readonly records: number;
  readonly dnsTokens: number;
}

type DnsSample = Pick<Sample, 'teamId' | 'sampledAt' | 'records' | 'dnsTokens'>;

interface ClusterRow extends DeclaredRow, ObservedRow, PricesRow {
  readonly teamId: string;
  readonly nodeCounts: unknown;
  readonly sleptAt: Date | null;
  readonly pools: readonly NodePoolRow[];
}

/** The current state of teams, for samples. */
export const sampleStore = ({ pool, prisma }: Database) => ({
  /** Ids of the next teams, in their order, without deleted ones. @param after null for the first ones */
  async listTeams(after: TeamId | null, limit: number): Promise<readonly TeamId[]> {
    const teams = await prisma.team.findMany({
      where: { deletedAt: null, ...(after !== null && { id: { gt: after } }) },
      orderBy: { id: 'asc' },
      take: limit,
      select: { id: true },
    });
    return teams.map(({ id }) => asTeamId(id));
  },

  async readDns(teamIds: readonly TeamId[], now: Date): Promise<readonly DnsSample[]> {
    const { rows } = await pool.query<Omit<DnsSample, 'teamId' | 'sampledAt'> & { readonly teamId: string }>({
      text: `
        SELECT team.id AS "teamId",
               ${recordsOfTeam('team.slug')} AS records,
               (SELECT count(*)::int FROM dns_token
                WHERE team_id = team.id AND session_id IS NULL AND revoked_at IS NULL
                  AND (expires_at IS NULL OR expires_at > $2)
                  AND NOT EXISTS (SELECT FROM hosted_name WHERE dns_token_id = dns_token.id)) AS "dnsTokens"
        FROM team WHERE team.id = ANY ($1::uuid[]) ORDER BY team.id`,
      values: [teamIds, now],
    });
    return rows.map((row) => ({ ...row, teamId: asTeamId(row.teamId), sampledAt: now }));
  },

  async readClusters(teamIds: readonly TeamId[]): Promise<ReadonlyMap<TeamId, readonly SleepingCluster[]>> {
    const { rows } = await pool.query<ClusterRow>({
      text: `
        SELECT cluster.team_id AS "teamId", ${selectOf('cluster', { ...clusterColumns.declared, ...clusterColumns.observed })},
               cluster.node_counts AS "nodeCounts", cluster.slept_at AS "sleptAt", ${selectOf('price_list', priceColumns)}, ${poolsOfCluster} AS pools
        FROM cluster LEFT JOIN price_list ON price_list.connection_id = cluster.connection_id
        WHERE cluster.team_id = ANY ($1::uuid[])`,
      values: [teamIds],
    });
    const byTeam = new Map<TeamId, SleepingCluster[]>(teamIds.map((id) => [id, []]));
    for (const row of rows) byTeam.get(asTeamId(row.teamId))?.push(usedCluster(row));
    return byTeam;
  },

  /**
   * Adds what the sleep of clusters has saved since the last recording, if that found them asleep too. After a gap this is an hour at most,
   * because nobody knows how they slept in it. A change of the currency begins at zero. Row by row, so that no locks are held together.
   */
  async recordSleep(clusters: readonly SleepingCluster[], at: Date): Promise<void> {
    for (const { id, phase, spec, prices, sleptAt } of clusters) {
      const saved = phase === 'Hibernated' ? savedPerHourOf(spec, prices) : null;
      if (saved === null && sleptAt === null) continue;
      await pool.query({
        text: `
          UPDATE cluster
          SET slept_at = CASE WHEN $3::text IS NOT NULL THEN $4::timestamptz END,
              saved_since = CASE WHEN $3 <> coalesce(saved_currency, '') THEN $4 ELSE saved_since END,
              saved_amount = CASE
                WHEN $3 <> coalesce(saved_currency, '') THEN 0
                WHEN slept_at IS NULL THEN saved_amount
                ELSE saved_amount + coalesce($2::numeric, 0) * least(extract(epoch FROM $4 - slept_at), 3600) / 3600 END,
              saved_currency = coalesce($3, saved_currency)
          WHERE id = $1 AND (slept_at IS NULL OR slept_at < $4)`,
        values: [id, saved?.toFixed() ?? null, saved && prices?.currency, at],
      });
    }
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

function usedCluster(row: ClusterRow): SleepingCluster {
  const { phase, observed } = seenOf(row);
  return {
    id: row.id,
    sleptAt: row.sleptAt,
    spec: { ...storedSpecOf(row), nodePools: row.pools.map(poolSpecOf) },
    prices: pricesOf(row),
    phase,
    observed,
    nodeCounts: row.nodeCounts as NodeCounts | null,
  };
}
