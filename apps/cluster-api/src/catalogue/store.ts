import {
  type KnownPrices,
  type PricesRow,
  pricesOf,
  selectOf,
  type TeamQuotasRow,
  teamColumns,
} from '@corral/cluster-data';
import type { TeamId } from '@corral/contracts';
import { type Prisma, sqlText } from '@corral/database';
import { pricesOfConnection } from '../clusters/rows.js';
import type { QuotaOverrides } from '../clusters/spec/quotas.js';

/** What the catalogue of one team depends on. */
export interface TeamBasis {
  readonly quotaOverrides: QuotaOverrides;
  readonly used: { readonly clusters: number; readonly connections: number; readonly adoptedServers: number };
  /** Null when the team has no connection with that ref. */
  readonly connection: { readonly prices: KnownPrices | null } | null;
  /** The database's clock, by which declarations are checked too. */
  readonly now: Date;
}

type Row = TeamQuotasRow & {
  readonly clusters: number;
  readonly connections: number;
  readonly servers: number;
  readonly connectionId: string | null;
  readonly now: Date;
} & PricesRow;

/** Reads what a team has, its quotas and the prices of one of its connections, in one statement. */
export const catalogueStore = (prisma: Prisma) => ({
  async read(teamId: TeamId, connectionRef: string | null): Promise<TeamBasis> {
    const [row] = await prisma.$queryRaw<Row[]>`
      SELECT ${sqlText(selectOf('team', teamColumns.quotas))},
             (SELECT count(*)::int FROM cluster WHERE team_id = team.id) AS clusters,
             (SELECT count(*)::int FROM connection WHERE team_id = team.id) AS connections,
             (SELECT count(*)::int FROM adopted_server WHERE team_id = team.id) AS servers,
             used.id AS "connectionId", clock_timestamp() AS now,
             ${pricesOfConnection}
      FROM team
      LEFT JOIN connection AS used ON used.team_id = team.id AND used.ref = ${connectionRef}
      LEFT JOIN price_list ON price_list.connection_id = used.id
      WHERE team.id = ${teamId}::uuid`;
    if (row === undefined) throw new Error('The team is gone');
    return {
      quotaOverrides: {
        clustersPerTeam: row.clustersMax,
        poolsPerCluster: row.poolsPerClusterMax,
        nodesPerCluster: row.nodesPerClusterMax,
      },
      used: { clusters: row.clusters, connections: row.connections, adoptedServers: row.servers },
      now: row.now,
      connection: row.connectionId === null ? null : { prices: pricesOf(row) },
    };
  },
});
