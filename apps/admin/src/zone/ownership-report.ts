import type { Prisma } from '@corral/database';
import { type WhyOwnerless, whyOwnerless } from './why-ownerless.js';

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
  readonly why: WhyOwnerless;
}

/** Who owns what in a zone: each set belongs to the team of its name's last label, whenever that team came. */
export interface Ownership {
  readonly teams: readonly TeamShare[];
  readonly ownerlessRrsets: number;
  readonly ownerless: readonly OwnerlessRrset[];
}

export interface OwnershipQuery {
  readonly zoneName: string;
  /** Null where there is none. */
  readonly demoZoneName: string | null;
  readonly recordsPerTeam: number;
}

export async function readOwnership(
  prisma: Prisma,
  { zoneName, demoZoneName, recordsPerTeam }: OwnershipQuery,
): Promise<Ownership> {
  const shares = await prisma.$queryRaw<{ team: string; rrsets: number; records: number }[]>`
    SELECT team.slug AS team, count(rrset.name)::int AS rrsets, coalesce(sum(rrset.record_count), 0)::int AS records
    FROM team
    LEFT JOIN (dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName})
      ON rrset.owner_label = team.slug
    GROUP BY team.slug ORDER BY team.slug`;
  const ownerless = await prisma.$queryRaw<Omit<OwnerlessRrset, 'why'>[]>`
    SELECT rrset.name, rrset.type, rrset.record_count AS records
    FROM dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName}
    WHERE NOT EXISTS (SELECT 1 FROM team WHERE team.slug = rrset.owner_label)
    ORDER BY rrset.owner_label, rrset.name, rrset.type`;
  return {
    teams: shares.map((share) => ({ ...share, isOverQuota: share.records > recordsPerTeam })),
    ownerlessRrsets: ownerless.length,
    ownerless: ownerless.map((rrset) => ({ ...rrset, why: whyOwnerless(rrset.name, zoneName, demoZoneName) })),
  };
}
