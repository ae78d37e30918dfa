import type { Prisma } from '@corral/database';

export interface CutBody {
  readonly bytes: number;
  /** In hexadecimal digits. */
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
  /** What the bodies were before they were cut; null for those that are whole. */
  readonly requestCut: CutBody | null;
  readonly upstreamCut: CutBody | null;
  readonly foundCut: CutBody | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundBody: string | null;
  /** Whether the write's effect was found, where it was settled. */
  readonly foundApplied: boolean | null;
  /** Writes that the entry tells of: more than one of those that were refused before they were sent. */
  readonly count: number;
  /** Of such writes: the error code that their clients got. */
  readonly refusalCode: string | null;
  readonly completedAt: Date | null;
}

export interface AuditQuery {
  readonly limit: number;
  /** Only entries before this one, as an earlier page told. */
  readonly before?: number;
  readonly name?: string;
  readonly type?: string;
}

export interface AuditPage {
  readonly entries: AuditRecord[];
  /** Pass it on to get the entries before these; null at the end. */
  readonly before: number | null;
}

export interface DnsUsage {
  readonly records: number;
  /** Held for writes under way. */
  readonly reservedRecords: number;
  readonly rrsets: number;
}

/** What a team did and holds, for people: by Prisma, since nothing here is hot. */
export const auditLog = (prisma: Prisma) => ({
  /** Entries of the team, newest first. */
  async listEntries(teamId: string, { limit, before, name, type }: AuditQuery): Promise<AuditPage> {
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
      ...{ ...row, id: Number(row.id), at: row.createdAt },
      requestCut: cutOf(row.requestBytes, row.requestSha256),
      upstreamCut: cutOf(row.upstreamBytes, row.upstreamSha256),
      foundCut: cutOf(row.foundBytes, row.foundSha256),
    }));
    return { entries, before: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
  },

  async readUsage(team: { id: string; slug: string }): Promise<DnsUsage> {
    const [mirrored, reserved] = await Promise.all([
      prisma.dnsRrset.aggregate({
        where: { ownerLabel: team.slug, zone: { ofDemos: false } },
        _sum: { recordCount: true },
        _count: true,
      }),
      prisma.dnsAuditEntry.aggregate({
        where: { teamId: team.id, demoId: null, state: 'pending' },
        _sum: { reservedRecords: true },
      }),
    ]);
    return {
      records: mirrored._sum.recordCount ?? 0,
      reservedRecords: reserved._sum.reservedRecords ?? 0,
      rrsets: mirrored._count,
    };
  },
});

function cutOf(bytes: number | null, sha256: Uint8Array | null): CutBody | null {
  return bytes === null || sha256 === null ? null : { bytes, sha256: Buffer.from(sha256).toString('hex') };
}
