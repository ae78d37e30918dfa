import { clusterLimits, type FieldChange, type TeamQuota, teamQuotas } from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';

/** The quota of a team: a number, or null for the default of the installation. */
export type TeamQuotas = Readonly<Record<TeamQuota, number | null>>;

const columns = {
  clusters: 'clustersMax',
  poolsPerCluster: 'poolsPerClusterMax',
  nodesPerCluster: 'nodesPerClusterMax',
  adoptedServers: 'adoptedServersMax',
  dnsRecords: 'dnsRecordsMax',
} as const satisfies Record<TeamQuota, string>;

const select = {
  clustersMax: true,
  poolsPerClusterMax: true,
  nodesPerClusterMax: true,
  adoptedServersMax: true,
  dnsRecordsMax: true,
} as const;

type Row = Readonly<Record<(typeof columns)[TeamQuota], number | null>>;

const quotasOfRow = (row: Row): TeamQuotas =>
  Object.fromEntries(teamQuotas.map((quota) => [quota, row[columns[quota]]])) as unknown as TeamQuotas;

/** The defaults of quotas that have no setting of their own in the environment of the command. */
export const quotaDefaults = (dnsRecords: number): Readonly<Record<TeamQuota, number>> => ({
  clusters: clusterLimits.clustersPerTeam,
  poolsPerCluster: clusterLimits.poolsPerCluster,
  nodesPerCluster: clusterLimits.nodesPerCluster,
  adoptedServers: clusterLimits.adoptedServersPerTeam,
  dnsRecords,
});

export async function readQuotas(db: Pick<Prisma, 'team'>, id: string): Promise<TeamQuotas> {
  return quotasOfRow(await db.team.findUniqueOrThrow({ where: { id }, select }));
}

export async function writeQuotas(tx: Transaction, id: string, wanted: Partial<TeamQuotas>): Promise<void> {
  const data = Object.fromEntries(
    teamQuotas.flatMap((quota) => (quota in wanted ? [[columns[quota], wanted[quota]]] : [])),
  );
  await tx.team.update({ where: { id }, data });
}

/** What would change, as the audit log shows it; empty if nothing does. */
export const quotaChanges = (before: TeamQuotas, wanted: Partial<TeamQuotas>): FieldChange[] =>
  teamQuotas.flatMap((quota) => {
    const to = wanted[quota];
    return to === undefined || to === before[quota] ? [] : [{ pointer: `/quotas/${quota}`, from: before[quota], to }];
  });

/** What a team has of each quota. Pools and nodes are those of its largest cluster; nodes are counted by the maximums. */
export async function readUsed(
  db: Pick<Prisma, '$queryRaw'>,
  id: string,
): Promise<Readonly<Record<TeamQuota, number>>> {
  const [row] = await db.$queryRaw<Record<TeamQuota, number>[]>`
    SELECT (SELECT count(*)::int FROM cluster WHERE team_id = team.id) AS clusters,
           coalesce(max(pools), 0)::int AS "poolsPerCluster", coalesce(max(nodes), 0)::int AS "nodesPerCluster",
           (SELECT count(*)::int FROM adopted_server WHERE team_id = team.id) AS "adoptedServers",
           (SELECT coalesce(sum(record_count), 0)::int FROM dns_rrset JOIN dns_zone ON dns_zone.id = zone_id
            WHERE owner_label = team.slug AND NOT of_demos) AS "dnsRecords"
    FROM team LEFT JOIN (
      SELECT team_id, cluster_id, count(*) AS pools, sum(maximum) AS nodes FROM node_pool GROUP BY team_id, cluster_id
    ) AS largest ON largest.team_id = team.id
    WHERE team.id = ${id}::uuid GROUP BY team.id`;
  return row as Record<TeamQuota, number>;
}

/** The quotas that are below what the team has: it keeps everything, and gets nothing more. */
export const quotasExceeded = (
  quotas: Readonly<Record<TeamQuota, number>>,
  used: Readonly<Record<TeamQuota, number>>,
): TeamQuota[] => teamQuotas.filter((quota) => used[quota] > quotas[quota]);
