import type { Prisma } from '@corral/database';

export interface TeamShare {
  readonly team: string;
  readonly rrsets: number;
  readonly records: number;
  readonly isOverQuota: boolean;
}

export interface OwnerlessRrset {
  readonly name: string;
  readonly type: string;
  readonly records: number;
}

/** Who owns what in a zone: each set belongs to the team of its name's last label, whenever that team came. */
export interface Ownership {
  readonly teams: readonly TeamShare[];
  readonly ownerless: readonly OwnerlessRrset[];
}

export async function readOwnership(prisma: Prisma, zoneName: string, recordsPerTeam: number): Promise<Ownership> {
  const shares = await prisma.$queryRaw<{ team: string; rrsets: number; records: number }[]>`
    SELECT team.slug AS team, count(rrset.name)::int AS rrsets, coalesce(sum(rrset.record_count), 0)::int AS records
    FROM team
    LEFT JOIN (dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName})
      ON rrset.owner_label = team.slug
    GROUP BY team.slug ORDER BY team.slug`;
  const ownerless = await prisma.$queryRaw<OwnerlessRrset[]>`
    SELECT rrset.name, rrset.type, rrset.record_count AS records
    FROM dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName}
    WHERE NOT EXISTS (SELECT 1 FROM team WHERE team.slug = rrset.owner_label)
    ORDER BY rrset.owner_label, rrset.name, rrset.type`;
  return {
    teams: shares.map((share) => ({ ...share, isOverQuota: share.records > recordsPerTeam })),
    ownerless,
  };
}
