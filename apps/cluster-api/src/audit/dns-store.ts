import {
  type AuditActorKind,
  type AuditOutcome,
  normalEmail,
  parseId,
  type TeamId,
  type UserId,
} from '@corral/contracts';
import { type Prisma, type Sql, sql, sqlText } from '@corral/database';
import { credentialOf } from './api-store.js';
import type { AuditFilters, AuditQuery, AuditRecord, DnsAuditRecord, ReadLog } from './log.js';
import { combinationsOf, type IndexedBy, newestEntries, newestOfGroups } from './newest-store.js';
import type { AuditedAccount } from './record-audit.js';

/** Limit of the bodies of a page. A page is held in memory, and one body may have a mebibyte. */
const PAGE_BYTES_MAX = 1_048_576;

/** The one who wrote in the zone, or what was found to have changed it. */
export interface DnsActorRow {
  readonly actor: AuditActorKind;
  readonly tokenId: string | null;
  readonly tokenName: string | null;
  /** The number of the person whose session the token belongs to, otherwise null. */
  readonly userNumber: number | null;
  readonly email: string | null;
  /** The service account that the token belongs to, otherwise null. */
  readonly account: AuditedAccount | null;
}

/** Finds the ids of the DNS tokens that a person made in a team. */
export async function tokensMadeBy(prisma: Prisma, teamId: TeamId, userId: UserId | null): Promise<string[]> {
  const rows = await prisma.dnsToken.findMany({ where: { teamId, createdById: userId }, select: { id: true } });
  return rows.map(({ id }) => id);
}

/** A person who writes with the token of their session acts in person, and so does an account. */
export function dnsActorOf({ actor: kind, account, userNumber, ...of }: DnsActorRow): AuditRecord['actor'] {
  if (account !== null) return { kind: 'account', id: account.id, name: account.name };
  if (userNumber !== null) return { kind: 'user', id: String(userNumber), name: of.email };
  return { kind, id: of.tokenId, name: of.tokenName };
}

interface Row extends DnsAuditRecord, DnsActorRow {
  readonly id: bigint;
  readonly createdAt: Date;
  readonly requestId: string | null;
  readonly operation: string;
  readonly state: AuditOutcome;
  /** Number of matching entries up to the limit, including those left out because of the page's size. */
  readonly found: number;
}

/** Entries about DNS writes and about changes found in the zone. */
export const dnsAudit =
  (db: Prisma): ReadLog =>
  async (query) => {
    if (isOfApi(query.filters)) return { records: [], hasMore: false };
    const rows = await readRows(db, { ...query, limit: query.limit + 1 });
    const records = rows.slice(0, query.limit).map(recordOf);
    return { records, hasMore: (rows[0]?.found ?? 0) > records.length };
  };

/** Whether only entries of the other log can fit: otherwise this one would be read to its end in vain. */
function isOfApi({ entry, kind, action, actor }: AuditFilters): boolean {
  if (entry?.source === 'api') return true;
  return (kind !== null && kind !== 'dns') || (action !== null && !action.startsWith('dns.')) || actor === 'operator';
}

const table = 'dns_audit_entry';
const actorsOfLog: readonly string[] = ['token', 'upstream', 'course', 'service'];

const tokensWith = ({ teamId }: AuditQuery, condition: Sql): Sql =>
  sql`SELECT id FROM dns_token WHERE team_id = ${teamId}::uuid AND ${condition}`;

/** Tokens of sessions and of service accounts: with these, a person or an account acts itself. */
const isOfSession = sqlText('session_id IS NOT NULL');

/** Those of one of both kinds. */
const isOfKind = (actor: 'user' | 'account'): Sql =>
  sql`${isOfSession} AND ${sqlText(actor === 'user' ? 'created_by' : 'account')} IS NOT NULL`;

function pageOfLog(query: AuditQuery): Sql {
  const { entry, action, outcome, name, type, token, actor, requestId } = query.filters;
  const operation = action?.slice('dns.'.length) ?? null;
  const kindOfActor = actor !== null && actorsOfLog.includes(actor) ? actor : null;
  const conditions = [
    ...(kindOfActor === null ? [] : [sql`NOT coalesce(entry.token_id IN (${tokensWith(query, isOfSession)}), false)`]),
    ...(actor === 'user' || actor === 'account'
      ? [sql`entry.token_id IN (${tokensWith(query, isOfKind(actor))})`]
      : []),
  ];
  const wanted = [
    ...(operation === null ? [] : [['operation', sql`${operation}`] as const]),
    ...(outcome === null ? [] : [['state', sql`${outcome}::dns_audit_state`] as const]),
    ...(type === null ? [] : [['type', sql`${type}`] as const]),
    ...(kindOfActor === null ? [] : [['actor', sql`${kindOfActor}::dns_actor`] as const]),
  ];
  const isWanted = (of: string): Sql[] =>
    wanted.map(([column, value]) => sql`${sqlText(`${of}.${column}`)} = ${value}`);
  const isOfPerson = actor !== null && actor !== 'user' && actor !== 'account' && kindOfActor === null;
  const tokens = [
    ...(token === null ? [] : [tokensNamed(query, token)]),
    ...(isOfPerson ? [tokensOf(query, actor)] : []),
  ];
  const rare: IndexedBy = [
    ...(entry === null ? [] : [['entry.id', sql`${entry.number}::bigint`] as const]),
    ...(requestId === null ? [] : [['entry.request_id', sql`${requestId}`] as const]),
    ...(name === null ? [] : [['entry.name', sql`${name}`] as const]),
  ];
  if (rare.length > 0) {
    const isOfTokens = tokens.map((used) => sql`entry.token_id IN (${used})`);
    const isOther = rare.slice(1).map(([column, value]) => sql`${sqlText(column)} = ${value}`);
    const all = [...isOther, ...isWanted('entry'), ...isOfTokens, ...conditions];
    return newestEntries(table, query, rare.slice(0, 1), all);
  }
  if (tokens.length > 0) {
    const used = tokens.reduce((left, right) => sql`${left} INTERSECT ${right}`);
    const all = [...isWanted('entry'), ...conditions];
    return newestOfGroups(table, query, used, [['entry.token_id', sql`of.id`]], all);
  }
  if (wanted.length === 0) return newestEntries(table, query, [], conditions);
  // Few values each, of which some are rare: an index with all of them serves every filter.
  const combinations = combinationsOf(table, query, columnsOfFew, isWanted('known'));
  const by = columnsOfFew.map((column) => [`entry.${column}`, sqlText(`of.${column}`)] as const);
  return newestOfGroups(table, query, combinations, by, conditions);
}

const columnsOfFew = ['operation', 'state', 'type', 'actor'];

function tokensNamed(query: AuditQuery, token: string): Sql {
  const named = tokensWith(query, sql`name = ${token}`);
  const id = parseId(token);
  return id === null ? named : sql`(${named} UNION SELECT ${id}::uuid)`;
}

const tokensOf = (query: AuditQuery, email: string): Sql =>
  tokensWith(query, sql`${isOfSession} AND created_by = (SELECT id FROM app_user WHERE email = ${normalEmail(email)})`);

/** Size and hash of a body before it was cut, as SQL; null when it is complete. */
const cutOf = (body: 'request' | 'upstream' | 'found' | 'before' | 'after'): Sql =>
  sqlText(`CASE WHEN entry.${body}_sha256 IS NOT NULL
             THEN json_build_object('bytes', entry.${body}_bytes, 'sha256', encode(entry.${body}_sha256, 'hex')) END`);

/** First selects the entries by an index, without reading their bodies, then joins the details. */
function readRows(db: Prisma, query: AuditQuery): Promise<Row[]> {
  return db.$queryRaw<Row[]>`
    SELECT entry.id, entry.created_at AS "createdAt", entry.actor::text AS actor, entry.operation,
           entry.state::text AS state, token.id AS "tokenId", token.name AS "tokenName",
           app_user.number AS "userNumber", app_user.email, token.account, zone.name AS zone, entry.name, entry.type,
           entry.request_body AS "requestBody", ${cutOf('request')} AS "requestCut",
           entry.upstream_body AS "upstreamBody", ${cutOf('upstream')} AS "upstreamCut",
           entry.found_body AS "foundBody", ${cutOf('found')} AS "foundCut",
           entry.before_body AS "beforeBody", ${cutOf('before')} AS "beforeCut",
           entry.after_body AS "afterBody", ${cutOf('after')} AS "afterCut",
           entry.upstream_status AS "upstreamStatus", entry.found_applied AS "foundApplied", entry.count,
           entry.refusal_code AS "refusalCode", entry.completed_at AS "completedAt", entry.request_id AS "requestId", page.found
    FROM (
      SELECT id, (count(*) OVER ())::int AS found,
             sum(bytes) OVER (ORDER BY created_at DESC, id DESC) - bytes AS bytes_before
      FROM (
        SELECT listed.id, listed.created_at,
             coalesce(octet_length(request_body), 0) + coalesce(octet_length(upstream_body), 0)
             + coalesce(octet_length(found_body), 0) + coalesce(octet_length(before_body), 0)
             + coalesce(octet_length(after_body), 0) AS bytes
      FROM (${pageOfLog(query)}) AS listed JOIN dns_audit_entry AS entry ON entry.id = listed.id
      ) AS sized
    ) AS page
    JOIN dns_audit_entry AS entry ON entry.id = page.id
    JOIN dns_zone AS zone ON zone.id = entry.zone_id
    LEFT JOIN dns_token AS token ON token.id = entry.token_id
    LEFT JOIN app_user ON token.session_id IS NOT NULL AND app_user.id = token.created_by
    WHERE bytes_before < ${sqlText(String(PAGE_BYTES_MAX))}
    ORDER BY entry.created_at DESC, entry.id DESC`;
}

const recordOf = (row: Row): AuditRecord => ({
  source: 'dns',
  number: row.id,
  createdAt: row.createdAt,
  kind: 'dns',
  action: `dns.${row.operation}`,
  outcome: row.state,
  actor: dnsActorOf(row),
  target: targetOf(row),
  requestId: row.requestId,
  detail: row.account === null ? {} : { credential: credentialOf(row.account) },
  changes: null,
  dns: row,
});

/** Entries about a demo itself have the type `DEMO` and the demo's label as their name. */
function targetOf({ name, type }: DnsAuditRecord): AuditRecord['target'] {
  return type === 'DEMO' ? { kind: 'Demo', id: name, name } : { kind: 'Rrset', id: `${name}/${type}`, name };
}
