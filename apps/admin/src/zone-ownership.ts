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
  const zone = { name: zoneName };
  const teams = await prisma.team.findMany({
    where: { deletedAt: null },
    select: { slug: true, dnsRecordsMax: true },
    orderBy: { slug: 'asc' },
  });
  const owned = await prisma.dnsRrset.groupBy({
    by: ['ownerLabel'],
    where: { zone },
    _count: true,
    _sum: { recordCount: true },
  });
  const byLabel = new Map(owned.map(({ ownerLabel, _count, _sum }) => [ownerLabel, { _count, _sum }]));
  const shares = teams.map(({ slug, dnsRecordsMax }) => {
    const has = byLabel.get(slug);
    return {
      team: slug,
      quota: dnsRecordsMax ?? recordsPerTeam,
      rrsets: has?._count ?? 0,
      records: has?._sum.recordCount ?? 0,
    };
  });
  const slugs = new Set(teams.map(({ slug }) => slug));
  const labels = owned.map(({ ownerLabel }) => ownerLabel).filter((label) => !slugs.has(label));
  const ownerless = await prisma.dnsRrset.findMany({
    where: { zone, ownerLabel: { in: labels } },
    select: { name: true, type: true, recordCount: true },
    orderBy: [{ ownerLabel: 'asc' }, { name: 'asc' }, { type: 'asc' }],
  });
  return {
    teams: shares.map((share) => ({ ...share, isOverQuota: share.records > share.quota })),
    ownerlessRrsets: ownerless.length,
    ownerless: ownerless.map(({ name, type, recordCount }) => ({
      name,
      type,
      records: recordCount,
      why: whyOwnerless(name, zoneName, demoZoneName),
    })),
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
