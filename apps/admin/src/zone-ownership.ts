import { isAtOrBelow, isTeamSlug, ownerLabelOf, reservedSlugs } from '@corral/contracts';
import type { Prisma } from '@corral/database';

interface TeamShare {
  readonly team: string;
  /** Records that the team may have. */
  readonly quota: number;
  readonly rrsets: number;
  readonly records: number;
  readonly isOverQuota: boolean;
}

interface OwnerlessRrset {
  readonly name: string;
  readonly type: string;
  readonly records: number;
  readonly why: WhyOwnerless;
}

/** Ownership of the sets in a zone. Each belongs to the team named by the last label, whenever the team was created. */
export interface Ownership {
  readonly teams: readonly TeamShare[];
  readonly ownerlessRrsets: number;
  readonly ownerless: readonly OwnerlessRrset[];
}

interface OwnershipQuery {
  readonly zoneName: string;
  /** Null without a demo zone. */
  readonly demoZoneName: string | null;
  readonly recordsPerTeam: number;
}

export async function readOwnership(
  prisma: Prisma,
  { zoneName, demoZoneName, recordsPerTeam }: OwnershipQuery,
): Promise<Ownership> {
  const shares = await prisma.$queryRaw<{ team: string; quota: number; rrsets: number; records: number }[]>`
    SELECT team.slug AS team, coalesce(team.dns_records_max, ${recordsPerTeam}::int) AS quota, count(rrset.name)::int AS rrsets, coalesce(sum(rrset.record_count), 0)::int AS records
    FROM team
    LEFT JOIN (dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName})
      ON rrset.owner_label = team.slug
    GROUP BY team.id ORDER BY team.slug`;
  const ownerless = await prisma.$queryRaw<Omit<OwnerlessRrset, 'why'>[]>`
    SELECT rrset.name, rrset.type, rrset.record_count AS records
    FROM dns_rrset AS rrset JOIN dns_zone AS zone ON zone.id = rrset.zone_id AND zone.name = ${zoneName}
    WHERE NOT EXISTS (SELECT 1 FROM team WHERE team.slug = rrset.owner_label)
    ORDER BY rrset.owner_label, rrset.name, rrset.type`;
  return {
    teams: shares.map((share) => ({ ...share, isOverQuota: share.records > share.quota })),
    ownerlessRrsets: ownerless.length,
    ownerless: ownerless.map((rrset) => ({ ...rrset, why: whyOwnerless(rrset.name, zoneName, demoZoneName) })),
  };
}

/** Why a record set belongs to no team. */
type WhyOwnerless = 'apex' | 'demo zone' | 'reserved' | 'no team name' | 'no team yet';

/**
 * Explains why no team owns a name.
 *
 * @param name relative to the zone
 * @param demoZoneName null without a demo zone
 */
export function whyOwnerless(name: string, zoneName: string, demoZoneName: string | null): WhyOwnerless {
  if (name === '@') return 'apex';
  if (demoZoneName !== null && isAtOrBelow(`${name}.${zoneName}`, demoZoneName)) return 'demo zone';
  const label = ownerLabelOf(name);
  if (reservedSlugs.includes(label)) return 'reserved';
  return isTeamSlug(label) ? 'no team yet' : 'no team name';
}
