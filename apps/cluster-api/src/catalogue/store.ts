import { type KnownPrices, priceColumns, pricesOf, prismaSelect, teamColumns } from '@corral/cluster-data';
import type { TeamId } from '@corral/contracts';
import { type Prisma, readClock } from '@corral/database';
import type { QuotaOverrides } from '../app-config.js';

/** What the catalogue of one team depends on. */
export interface TeamBasis {
  readonly quotaOverrides: QuotaOverrides;
  readonly used: { readonly clusters: number; readonly connections: number; readonly adoptedServers: number };
  /** Null when the team has no connection with that ref. */
  readonly connection: { readonly prices: KnownPrices | null } | null;
  /** The database's clock, by which declarations are checked too. */
  readonly now: Date;
}

/** Reads what a team has, its quotas and the prices of one of its connections. */
export async function readTeamBasis(prisma: Prisma, teamId: TeamId, connectionRef: string | null): Promise<TeamBasis> {
  const team = await prisma.team.findUniqueOrThrow({
    where: { id: teamId },
    select: {
      ...prismaSelect(teamColumns.quotas),
      _count: { select: { clusters: true, connections: true, adoptedServers: true } },
    },
  });
  const connection =
    connectionRef === null
      ? null
      : await prisma.connection.findUnique({
          where: { teamId_ref: { teamId, ref: connectionRef } },
          select: { priceList: { select: prismaSelect(priceColumns) } },
        });
  return {
    quotaOverrides: team,
    used: team._count,
    now: await readClock(prisma),
    connection: connection && { prices: connection.priceList && pricesOf(connection.priceList) },
  };
}
