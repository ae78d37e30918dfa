import type { AuditActorKind, AuditKind, AuditOutcome } from '@corral/contracts';

/** Which log an entry is in: what was done over this API, or DNS writes, whose log is also their ledger. */
export const auditSources = ['api', 'dns'] as const;
export type AuditSource = (typeof auditSources)[number];

/** Where an entry stands in its log. Neither ever changes, and what is new comes in front. */
export interface PositionInLog {
  readonly createdAt: Date;
  /** 64 bits. */
  readonly number: bigint;
}

/** Where an entry stands in the one log that both make: by time, those of one moment by log and number. */
export interface AuditPosition extends PositionInLog {
  readonly source: AuditSource;
}

/** Null: not filtered by. */
export interface AuditFilters {
  readonly kind: AuditKind | null;
  readonly action: string | null;
  readonly outcome: AuditOutcome | null;
  readonly name: string | null;
  readonly type: string | null;
  readonly token: string | null;
  readonly actor: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

export interface AuditRecord extends AuditPosition {
  readonly kind: string;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly actor: { readonly kind: AuditActorKind; readonly id: string | null; readonly name: string | null };
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  readonly requestId: string | null;
  readonly detail: object;
  readonly dns: DnsAuditRecord | null;
}

export interface CutBody {
  readonly bytes: number;
  /** In hexadecimal digits. */
  readonly sha256: string;
}

/** Bodies are the texts that were sent and found. */
export interface DnsAuditRecord {
  /** What bodies were before they were cut; null for those that are whole. */
  readonly requestCut: CutBody | null;
  readonly upstreamCut: CutBody | null;
  readonly foundCut: CutBody | null;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly requestBody: string | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundBody: string | null;
  readonly foundApplied: boolean | null;
  /** Writes that the entry tells of. */
  readonly count: number;
  readonly refusalCode: string | null;
  readonly completedAt: Date | null;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Whether there are others behind these. */
  readonly hasMore: boolean;
}

export interface AuditQuery {
  readonly teamId: string;
  readonly filters: AuditFilters;
  /** Only entries behind this one. */
  readonly after: PositionInLog | null;
  /** Pages may be shorter where bodies are large; one entry is there at the least, if there is any. */
  readonly limit: number;
}

/** Reads one of the logs, newest first. */
export type ReadLog = (query: AuditQuery) => Promise<AuditPage>;

export type AuditLog = ReturnType<typeof auditLog>;

const NUMBER_MAX = 2n ** 63n - 1n;
/** Few enough that nobody else waits while they are rendered. */
const EXPORTED_AT_ONCE = 500;

/** Both logs as one. They stay two tables, because the one is also the ledger of writes under way. */
export function auditLog(logs: Readonly<Record<AuditSource, ReadLog>>) {
  const readPage = async (
    teamId: string,
    filters: AuditFilters,
    after: AuditPosition | null,
    limit: number,
  ): Promise<AuditPage> => {
    const pageOf = (source: AuditSource): Promise<AuditPage> =>
      logs[source]({ teamId, filters, after: after && positionIn(source, after), limit });
    return mergePages(await Promise.all(auditSources.map(pageOf)), limit);
  };

  return {
    readPage,

    /** All entries, page by page. Each is read when it is asked for; in between nothing is held, on neither side. */
    async *readAll(teamId: string, filters: AuditFilters): AsyncGenerator<readonly AuditRecord[]> {
      let page = await readPage(teamId, filters, null, EXPORTED_AT_ONCE);
      yield page.records;
      for (let last = page.records.at(-1); page.hasMore && last !== undefined; last = page.records.at(-1)) {
        page = await readPage(teamId, filters, last, EXPORTED_AT_ONCE);
        yield page.records;
      }
    },
  };
}

/** The position of one log that lies where `after` does: between those of the same moment, logs come in their order. */
function positionIn(source: AuditSource, { createdAt, source: ofAfter, number }: AuditPosition): PositionInLog {
  const order = auditSources.indexOf(source) - auditSources.indexOf(ofAfter);
  if (order === 0) return { createdAt, number };
  return { createdAt, number: order > 0 ? NUMBER_MAX : 0n };
}

/** The first entries of all pages. Nothing is taken from behind the end of a page that is not the end of its log. */
function mergePages(pages: readonly AuditPage[], limit: number): AuditPage {
  const merged = pages.flatMap(({ records }) => records).sort(compareEntries);
  const ends = pages.flatMap(({ records, hasMore }) => (hasMore ? records.slice(-1) : []));
  const known = ends.reduce((count, end) => Math.min(count, merged.indexOf(end) + 1), merged.length);
  const records = merged.slice(0, Math.min(known, limit));
  return { records, hasMore: ends.length > 0 || records.length < merged.length };
}

/** Newest first. */
export function compareEntries(a: AuditPosition, b: AuditPosition): number {
  const byTime = b.createdAt.getTime() - a.createdAt.getTime();
  const bySource = auditSources.indexOf(a.source) - auditSources.indexOf(b.source);
  return byTime || bySource || (a.number < b.number ? 1 : -1);
}
