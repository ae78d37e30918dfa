import type { NamedTeam } from '@corral/auth';
import {
  clusterLimits,
  dnsLimits,
  type FieldChange,
  type TeamLimit,
  type TeamQuota,
  teamLimits,
  teamQuotas,
} from '@corral/contracts';
import type { Prisma, Transaction } from '@corral/database';
import { readUsage } from '@corral/dns-data';

/** The quotas or the request limits of a team, by name: null is the default of the installation. */
export type OwnNumbers<Name extends string> = Readonly<Record<Name, number | null>>;

const quotaColumns = {
  clusters: 'clustersMax',
  poolsPerCluster: 'poolsPerClusterMax',
  nodesPerCluster: 'nodesPerClusterMax',
  adoptedServers: 'adoptedServersMax',
  dnsRecords: 'dnsRecordsMax',
} as const satisfies Record<TeamQuota, string>;

const limitColumns = {
  dnsRequests: 'dnsRequestsMax',
  dnsTokenRequests: 'dnsTokenRequestsMax',
  accountRequests: 'accountRequestsMax',
} as const satisfies Record<TeamLimit, string>;

type Column = (typeof quotaColumns)[TeamQuota] | (typeof limitColumns)[TeamLimit];

const select = Object.fromEntries(
  [...Object.values(quotaColumns), ...Object.values(limitColumns)].map((column) => [column, true]),
) as Record<Column, true>;

/** Reads and writes quotas or request limits, which operators set per team, in the columns of its row. */
export interface TeamNumbers<Name extends string> {
  readonly names: readonly Name[];
  read(db: Transaction, id: string): Promise<OwnNumbers<Name>>;
  write(tx: Transaction, id: string, wanted: Partial<OwnNumbers<Name>>): Promise<void>;
  /** What would change, as the audit log shows it; empty if nothing does. */
  changes(before: OwnNumbers<Name>, wanted: Partial<OwnNumbers<Name>>): FieldChange[];
}

function teamNumbers<Name extends string>(
  pointer: string,
  names: readonly Name[],
  columns: Readonly<Record<Name, Column>>,
): TeamNumbers<Name> {
  return {
    names,
    async read(db, id) {
      const row = await db.team.findUniqueOrThrow({ where: { id }, select });
      return Object.fromEntries(names.map((name) => [name, row[columns[name]]])) as OwnNumbers<Name>;
    },
    async write(tx, id, wanted) {
      const data = Object.fromEntries(names.flatMap((name) => (name in wanted ? [[columns[name], wanted[name]]] : [])));
      await tx.team.update({ where: { id }, data });
    },
    changes: (before, wanted) =>
      names.flatMap((name) => {
        const to = wanted[name];
        return to === undefined || to === before[name]
          ? []
          : [{ pointer: `${pointer}/${name}`, from: before[name], to }];
      }),
  };
}

export const quotaNumbers = teamNumbers('/quotas', teamQuotas, quotaColumns);
export const limitNumbers = teamNumbers('/limits', teamLimits, limitColumns);

/** The defaults of quotas that have no setting of their own in the environment of the command. */
export const quotaDefaults = (dnsRecords: number): Readonly<Record<TeamQuota, number>> => ({
  clusters: clusterLimits.clustersPerTeam,
  poolsPerCluster: clusterLimits.poolsPerCluster,
  nodesPerCluster: clusterLimits.nodesPerCluster,
  adoptedServers: clusterLimits.adoptedServersPerTeam,
  dnsRecords,
});

/** The defaults of request limits, per minute, in an installation that has not changed them. */
export const limitDefaults: Readonly<Record<TeamLimit, number>> = {
  dnsRequests: dnsLimits.requestsPerTeamPerMinute,
  dnsTokenRequests: dnsLimits.requestsPerTokenPerMinute,
  accountRequests: clusterLimits.requestsPerPersonPerMinute,
};

/** What a team has of each quota. Pools and nodes are those of its largest cluster; nodes are counted by the maximums. */
export async function readUsed(db: Prisma, team: NamedTeam): Promise<Readonly<Record<TeamQuota, number>>> {
  const { id: teamId } = team;
  const pools = await db.nodePool.groupBy({
    by: ['clusterId'],
    where: { teamId },
    _count: true,
    _sum: { maximum: true },
  });
  return {
    clusters: await db.cluster.count({ where: { teamId } }),
    poolsPerCluster: Math.max(0, ...pools.map(({ _count }) => _count)),
    nodesPerCluster: Math.max(0, ...pools.map(({ _sum }) => _sum.maximum ?? 0)),
    adoptedServers: await db.adoptedServer.count({ where: { teamId } }),
    dnsRecords: (await readUsage(db, team)).records,
  };
}

/** The quotas that are below what the team has: it keeps everything, and gets nothing more. */
export const quotasExceeded = (
  quotas: Readonly<Record<TeamQuota, number>>,
  used: Readonly<Record<TeamQuota, number>>,
): TeamQuota[] => teamQuotas.filter((quota) => used[quota] > quotas[quota]);
