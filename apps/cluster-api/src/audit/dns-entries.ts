import { type AuditActorKind, type AuditOutcome, normalEmail } from '@corral/contracts';
import { type Prisma, sql } from '@corral/database';
import { isId } from '../paging.js';
import type { AuditQuery, AuditRecord, CutBody, DnsAuditRecord, ReadLog } from './log.js';

/** Limit of the bodies of a page. A page is held in memory, and one body may have a mebibyte. */
const PAGE_BYTES_MAX = 1_048_576;

type Body = 'request' | 'upstream' | 'found' | 'before' | 'after';

interface Row
  extends Omit<DnsAuditRecord, `${Body}Cut`>,
    Readonly<Record<`${Body}Bytes`, number | null> & Record<`${Body}Sha256`, string | null>> {
  readonly id: bigint;
  readonly createdAt: Date;
  readonly actor: AuditActorKind;
  readonly tokenId: string | null;
  readonly tokenName: string | null;
  /** Of the person whose session the token belongs to, otherwise null. */
  readonly userNumber: number | null;
  readonly email: string | null;
  readonly requestId: string | null;
  readonly operation: string;
  readonly state: AuditOutcome;
  /** Number of matching entries up to the limit, including those left out because of the page's size. */
  readonly found: number;
}

/** Entries about DNS writes and about changes found in the zone. */
export const dnsAudit =
  (prisma: Prisma): ReadLog =>
  async (query) => {
    if (query.filters.kind !== null && query.filters.kind !== 'dns') return { records: [], hasMore: false };
    const rows = await readRows(prisma, { ...query, limit: query.limit + 1 });
    const records = rows.slice(0, query.limit).map(recordOf);
    return { records, hasMore: (rows[0]?.found ?? 0) > records.length };
  };

/** First selects the entries by the index on team and time, without reading their bodies, then joins the details. */
function readRows(prisma: Prisma, { teamId, filters, after, limit }: AuditQuery): Promise<Row[]> {
  const { action, outcome, name, type, token, actor, from, to } = filters;
  const tokenId = token !== null && isId(token) ? token : null;
  const ofSessions = sql`SELECT id FROM dns_token WHERE team_id = ${teamId}::uuid AND session_id IS NOT NULL`;
  return prisma.$queryRaw<Row[]>`
    SELECT entry.id, entry.created_at AS "createdAt", entry.actor::text AS actor, entry.operation,
           entry.state::text AS state, token.id AS "tokenId", token.name AS "tokenName",
           app_user.number AS "userNumber", app_user.email, zone.name AS zone,
           entry.name, entry.type, entry.request_body AS "requestBody",
           entry.request_bytes AS "requestBytes", encode(entry.request_sha256, 'hex') AS "requestSha256",
           entry.upstream_bytes AS "upstreamBytes", encode(entry.upstream_sha256, 'hex') AS "upstreamSha256",
           entry.found_bytes AS "foundBytes", encode(entry.found_sha256, 'hex') AS "foundSha256",
           entry.before_bytes AS "beforeBytes", encode(entry.before_sha256, 'hex') AS "beforeSha256",
           entry.after_bytes AS "afterBytes", encode(entry.after_sha256, 'hex') AS "afterSha256",
           entry.before_body AS "beforeBody", entry.after_body AS "afterBody",
           entry.upstream_status AS "upstreamStatus",
           entry.upstream_body AS "upstreamBody", entry.found_body AS "foundBody",
           entry.found_applied AS "foundApplied", entry.count, entry.refusal_code AS "refusalCode",
           entry.completed_at AS "completedAt", entry.request_id AS "requestId", page.found
    FROM (
      SELECT id, (count(*) OVER ())::int AS found,
             sum(bytes) OVER (ORDER BY created_at DESC, id DESC) - bytes AS bytes_before
      FROM (
        SELECT id, created_at, coalesce(octet_length(request_body), 0) + coalesce(octet_length(upstream_body), 0)
                             + coalesce(octet_length(found_body), 0) + coalesce(octet_length(before_body), 0)
                             + coalesce(octet_length(after_body), 0) AS bytes
        FROM dns_audit_entry
        WHERE team_id = ${teamId}::uuid
          AND (created_at, id) <
              (coalesce(${after?.createdAt ?? null}::timestamptz, 'infinity'), ${after?.number ?? 0n}::bigint)
          AND created_at >= coalesce(${from}::timestamptz, '-infinity')
          AND created_at < coalesce(${to}::timestamptz, 'infinity')
          AND (${action}::text IS NULL OR 'dns.' || operation = ${action}::text)
          AND (${outcome}::text IS NULL OR state::text = ${outcome}::text)
          AND (${name}::text IS NULL OR name = ${name}::text)
          AND (${type}::text IS NULL OR type = ${type}::text)
          AND CASE WHEN ${actor}::text IS NULL THEN true
                   WHEN ${actor}::text IN ('token', 'upstream', 'course', 'service')
                   THEN actor::text = ${actor}::text AND NOT coalesce(token_id IN (${ofSessions}), false)
                   ELSE token_id IN (${ofSessions} AND (${actor}::text = 'user' OR created_by =
                     (SELECT id FROM app_user WHERE email = ${actor === null ? null : normalEmail(actor)}::text))) END
          AND (${token}::text IS NULL OR token_id IN (
            SELECT id FROM dns_token
            WHERE id = ${tokenId}::uuid OR (team_id = ${teamId}::uuid AND name = ${token}::text)))
        ORDER BY created_at DESC, id DESC LIMIT ${limit}
      ) AS listed
    ) AS page
    JOIN dns_audit_entry AS entry ON entry.id = page.id
    JOIN dns_zone AS zone ON zone.id = entry.zone_id
    LEFT JOIN dns_token AS token ON token.id = entry.token_id
    LEFT JOIN app_user ON token.session_id IS NOT NULL AND app_user.id = token.created_by
    WHERE bytes_before < ${PAGE_BYTES_MAX}
    ORDER BY entry.created_at DESC, entry.id DESC`;
}

function recordOf(row: Row): AuditRecord {
  const { id, createdAt, operation, state } = row;
  const dns = dnsOf(row);
  return {
    source: 'dns',
    number: id,
    createdAt,
    kind: 'dns',
    action: `dns.${operation}`,
    outcome: state,
    actor: actorOf(row),
    target: targetOf(dns),
    requestId: row.requestId,
    detail: {},
    changes: null,
    dns,
  };
}

/** A person who writes with the token of their session acts in person. */
function actorOf({ actor, tokenId, tokenName, userNumber, email }: Row): AuditRecord['actor'] {
  if (userNumber !== null) return { kind: 'user', id: String(userNumber), name: email };
  return { kind: actor, id: tokenId, name: tokenName };
}

function dnsOf(row: Row): DnsAuditRecord {
  const { zone, name, type, requestBody, upstreamStatus, upstreamBody, foundBody, foundApplied, completedAt } = row;
  const { beforeBody, afterBody } = row;
  return {
    zone,
    name,
    type,
    requestBody,
    upstreamStatus,
    upstreamBody,
    foundBody,
    beforeBody,
    afterBody,
    foundApplied,
    completedAt,
    count: row.count,
    refusalCode: row.refusalCode,
    requestCut: cutOf(row.requestBytes, row.requestSha256),
    upstreamCut: cutOf(row.upstreamBytes, row.upstreamSha256),
    foundCut: cutOf(row.foundBytes, row.foundSha256),
    beforeCut: cutOf(row.beforeBytes, row.beforeSha256),
    afterCut: cutOf(row.afterBytes, row.afterSha256),
  };
}

function cutOf(bytes: number | null, sha256: string | null): CutBody | null {
  return bytes === null || sha256 === null ? null : { bytes, sha256 };
}

/** Entries about a demo itself have the type `DEMO` and the demo's label as their name. */
function targetOf({ name, type }: DnsAuditRecord): AuditRecord['target'] {
  return type === 'DEMO' ? { kind: 'Demo', id: name, name } : { kind: 'Rrset', id: `${name}/${type}`, name };
}
