import type { TeamId } from '@corral/contracts';
import type { Transaction } from '@corral/database';

interface CutBody {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface AuditRecord {
  readonly id: number;
  readonly at: Date;
  readonly actor: 'token' | 'upstream' | 'course' | 'service';
  readonly token: { id: string; name: string } | null;
  readonly name: string;
  readonly type: string;
  readonly operation: string;
  readonly state: string;
  readonly requestBody: string | null;
  /** Size and hash of a body that was truncated; null for a body stored whole. */
  readonly requestCut: CutBody | null;
  readonly upstreamCut: CutBody | null;
  readonly foundCut: CutBody | null;
  readonly beforeCut: CutBody | null;
  readonly afterCut: CutBody | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundBody: string | null;
  readonly beforeBody: string | null;
  readonly afterBody: string | null;
  /** Whether the effect of a settled write was found upstream. */
  readonly foundApplied: boolean | null;
  /** Number of writes this entry stands for; above 1 only for writes refused before they were sent. */
  readonly count: number;
  /** The error code that clients of such writes received. */
  readonly refusalCode: string | null;
  readonly completedAt: Date | null;
}

interface AuditQuery {
  readonly limit: number;
  /** Only entries older than this id, from an earlier page's `before`. */
  readonly before?: number;
  readonly name?: string;
  readonly type?: string;
}

interface AuditPage {
  readonly entries: AuditRecord[];
  /** Pass as `before` to get the next older entries; null on the last page. */
  readonly before: number | null;
}

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

/** Audit log and usage of a team, read through Prisma because neither is on a hot path. */
export const auditLog = (prisma: Transaction) => ({
  /** The team's entries, newest first. */
  async listEntries(teamId: TeamId, { limit, before, name, type }: AuditQuery): Promise<AuditPage> {
    const rows = await prisma.dnsAuditEntry.findMany({
      where: {
        teamId,
        ...(before === undefined ? {} : { id: { lt: before } }),
        ...(name === undefined ? {} : { name }),
        ...(type === undefined ? {} : { type }),
      },
      orderBy: { id: 'desc' },
      take: limit + 1,
      include: { token: { select: { id: true, name: true } } },
    });
    const entries = rows.slice(0, limit).map((row) => ({
      ...row,
      id: Number(row.id),
      at: row.createdAt,
      requestCut: cutOf(row.requestBytes, row.requestSha256),
      upstreamCut: cutOf(row.upstreamBytes, row.upstreamSha256),
      foundCut: cutOf(row.foundBytes, row.foundSha256),
      beforeCut: cutOf(row.beforeBytes, row.beforeSha256),
      afterCut: cutOf(row.afterBytes, row.afterSha256),
    }));
    return { entries, before: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
  },

  async readUsage(team: { id: string; slug: string }): Promise<DnsUsage> {
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
  },
});

function cutOf(bytes: number | null, sha256: Uint8Array | null): CutBody | null {
  return bytes === null || sha256 === null ? null : { bytes, sha256: Buffer.from(sha256).toString('hex') };
}
