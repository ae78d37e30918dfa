import type { Transaction } from '@corral/database';

interface DnsUsage {
  readonly records: number;
  /** Reserved for pending writes. */
  readonly reservedRecords: number;
  readonly rrsets: number;
  /** The team's own quota of records; null for that of the installation. */
  readonly recordsMax: number | null;
  /** The team's own limit of requests per minute; null for that of the installation. */
  readonly requestsMax: number | null;
}

/** What a team has of DNS, and its own limits. */
export async function readUsage(prisma: Transaction, team: { id: string; slug: string }): Promise<DnsUsage> {
  const [mirrored, reserved, own] = await Promise.all([
    prisma.dnsRrset.aggregate({
      where: { ownerLabel: team.slug, zone: { ofDemos: false } },
      _sum: { recordCount: true },
      _count: true,
    }),
    prisma.dnsAuditEntry.aggregate({
      where: { teamId: team.id, demoId: null, state: 'pending' },
      _sum: { reservedRecords: true },
    }),
    prisma.team.findUnique({ where: { id: team.id }, select: { dnsRecordsMax: true, dnsRequestsMax: true } }),
  ]);
  return {
    records: mirrored._sum.recordCount ?? 0,
    reservedRecords: reserved._sum.reservedRecords ?? 0,
    rrsets: mirrored._count,
    recordsMax: own?.dnsRecordsMax ?? null,
    requestsMax: own?.dnsRequestsMax ?? null,
  };
}
