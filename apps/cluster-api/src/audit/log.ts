import type { AuditActorKind, AuditKind, AuditOutcome, FieldChange, TeamId } from '@corral/contracts';

/** The log of an entry: calls of this API, or DNS writes. The latter is also the ledger of running writes. */
const auditSources = ['api', 'dns'] as const;
export type AuditSource = (typeof auditSources)[number];

/** The position of an entry in its log. Positions never change, and new entries come first. */
export interface PositionInLog {
  readonly createdAt: Date;
  /** 64-bit. */
  readonly number: bigint;
}

/** The position of an entry in the merged log: ordered by time, then log, then number. */
export interface AuditPosition extends PositionInLog {
  readonly source: AuditSource;
}

export interface EntryId {
  readonly source: AuditSource;
  readonly number: bigint;
}

const wellFormed = /^([a-z]+)-(\d{1,18})$/;

/** @returns null unless it may be the id of an entry, as clients see it */
export function parseEntryId(text: string): EntryId | null {
  const [, name, number] = wellFormed.exec(text) ?? [];
  const source = auditSources.find((known) => known === name);
  return source === undefined || number === undefined ? null : { source, number: BigInt(number) };
}

/** Null means no filter. */
export interface AuditFilters {
  /** A single entry. */
  readonly entry: EntryId | null;
  readonly kind: AuditKind | null;
  readonly action: string | null;
  readonly outcome: AuditOutcome | null;
  readonly name: string | null;
  readonly type: string | null;
  readonly token: string | null;
  readonly actor: string | null;
  readonly requestId: string | null;
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
  readonly changes: readonly FieldChange[] | null;
  readonly dns: DnsAuditRecord | null;
}

export interface CutBody {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Bodies are the exact texts that were sent and found. */
export interface DnsAuditRecord {
  /** Size and hash of the body before it was cut. Null when it is complete. The next four likewise. */
  readonly requestCut: CutBody | null;
  readonly upstreamCut: CutBody | null;
  readonly foundCut: CutBody | null;
  readonly beforeCut: CutBody | null;
  readonly afterCut: CutBody | null;
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly requestBody: string | null;
  readonly upstreamStatus: number | null;
  readonly upstreamBody: string | null;
  readonly foundBody: string | null;
  readonly beforeBody: string | null;
  readonly afterBody: string | null;
  readonly foundApplied: boolean | null;
  /** Number of writes that the entry stands for. */
  readonly count: number;
  readonly refusalCode: string | null;
  readonly completedAt: Date | null;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** Whether older entries follow. */
  readonly hasMore: boolean;
}

export interface AuditQuery {
  readonly teamId: TeamId;
  readonly filters: AuditFilters;
  /** Only entries after this position. */
  readonly after: PositionInLog | null;
  /** Pages may be shorter when bodies are large, but are empty only when no entry is left. */
  readonly limit: number;
}

/** Reads one of the logs, newest first. */
export type ReadLog = (query: AuditQuery) => Promise<AuditPage>;

const NUMBER_MAX = 2n ** 63n - 1n;
/** Page size of exports. Small enough that rendering a page does not delay other requests. */
const EXPORTED_AT_ONCE = 500;

export const noFilters: AuditFilters = {
  entry: null,
  kind: null,
  action: null,
  outcome: null,
  name: null,
  type: null,
  token: null,
  actor: null,
  requestId: null,
  from: null,
  to: null,
};

/** Merges both logs. They are two tables, because the DNS log is also the ledger of running writes. */
export function auditLog(logs: Readonly<Record<AuditSource, ReadLog>>) {
  const readPage = async (
    teamId: TeamId,
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

    /** Yields all entries, page by page. Pages are read on demand, and no database resources are held in between. */
    async *readAll(teamId: TeamId, filters: AuditFilters): AsyncGenerator<readonly AuditRecord[]> {
      let page = await readPage(teamId, filters, null, EXPORTED_AT_ONCE);
      yield page.records;
      for (let last = page.records.at(-1); page.hasMore && last !== undefined; last = page.records.at(-1)) {
        page = await readPage(teamId, filters, last, EXPORTED_AT_ONCE);
        yield page.records;
      }
    },
  };
}

/** Translates `after` to a position in one log. At the same time, logs are ordered as in `auditSources`. */
function positionIn(source: AuditSource, { createdAt, source: ofAfter, number }: AuditPosition): PositionInLog {
  const order = auditSources.indexOf(source) - auditSources.indexOf(ofAfter);
  if (order === 0) return { createdAt, number };
  return { createdAt, number: order > 0 ? NUMBER_MAX : 0n };
}

/** Merges the first entries of all pages. Stops at the end of a page whose log continues. */
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
