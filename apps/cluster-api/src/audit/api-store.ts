import { type AuditOutcome, auditActorKinds, type FieldChange, normalEmail } from '@corral/contracts';
import { type Prisma, type Sql, sql, sqlText } from '@corral/database';
import type { AuditFilters, AuditQuery, AuditRecord, ReadLog } from './log.js';
import { combinationsOf, type IndexedBy, newestEntries, newestOfGroups } from './newest-store.js';
import type { AuditedAccount } from './record-audit.js';

/** Exactly one of these acted, or none when it was the service itself. */
interface Actor {
  readonly userNumber: number | null;
  readonly email: string | null;
  readonly account: AuditedAccount | null;
  readonly operator: string | null;
}

interface Row extends Actor {
  readonly id: bigint;
  readonly createdAt: Date;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly targetKind: string;
  readonly targetId: string;
  readonly targetName: string;
  readonly requestId: string | null;
  readonly detail: object;
  readonly changes: readonly FieldChange[] | null;
}

/** Entries about calls of this API. Most are written in the transaction of the change and are complete immediately. */
export const apiAudit =
  (db: Prisma): ReadLog =>
  async (query) => {
    if (isOfDns(query.filters)) return { records: [], hasMore: false };
    const rows = await readRows(db, { ...query, limit: query.limit + 1 });
    return { records: rows.slice(0, query.limit).map(recordOf), hasMore: rows.length > query.limit };
  };

const outcomes: readonly AuditOutcome[] = ['completed', 'refused', 'pending'];

/** Whether only entries of the other log can fit: otherwise this one would be read to its end in vain. */
function isOfDns({ entry, kind, action, outcome, type, token, actor }: AuditFilters): boolean {
  return (
    entry?.source === 'dns' ||
    type !== null ||
    token !== null ||
    kind === 'dns' ||
    action?.startsWith('dns.') === true ||
    (outcome !== null && !outcomes.includes(outcome)) ||
    ['token', 'upstream', 'course'].includes(actor ?? '')
  );
}

/** Exactly as in the index `audit_entry_of_outcome`. The entry of a kubeconfig is written before the issue. */
const outcomeColumn = `(CASE WHEN entry.action = 'service_account.refuse_exchange' THEN 'refused'
  WHEN entry.action <> 'kubeconfig.issue' OR entry.detail->'issued' = 'true'::jsonb THEN 'completed'
  WHEN entry.detail->'issued' = 'false'::jsonb THEN 'refused' ELSE 'pending' END)`;

/** Exactly as in the index `audit_entry_of_actor`. */
const actorColumn = `(CASE WHEN entry.user_id IS NOT NULL THEN 'user' WHEN entry.account IS NOT NULL THEN 'account'
  WHEN entry.operator IS NOT NULL THEN 'operator' ELSE 'service' END)`;

function pageOfLog(query: AuditQuery): Sql {
  const { entry, kind, action, outcome, name, actor, requestId } = query.filters;
  // The one that leaves the fewest entries comes first: an index serves it, and the others are conditions.
  const filters: IndexedBy = [
    ...(entry === null ? [] : [['entry.id', sql`${entry.number}::bigint`] as const]),
    ...(requestId === null ? [] : [['entry.request_id', sql`${requestId}`] as const]),
    ...(name === null ? [] : [['entry.target_name', sql`${name}`] as const]),
    ...(actor === null ? [] : [actorIs(actor)]),
    ...(action === null ? [] : [['entry.action', sql`${action}`] as const]),
    ...(outcome === null ? [] : [[outcomeColumn, sql`${outcome}`] as const]),
  ];
  const conditions = filters.map(([column, value]) => sql`${sqlText(column)} = ${value}`);
  if (kind === null) return newestEntries('audit_entry', query, filters.slice(0, 1), conditions.slice(1));
  if (name !== null || requestId !== null) {
    const isOfKind = sql`split_part(entry.action, '.', 1) = ${kind}`;
    return newestEntries('audit_entry', query, filters.slice(0, 1), [isOfKind, ...conditions.slice(1)]);
  }
  const actions = combinationsOf('audit_entry', query, ['action'], [sql`split_part(known.action, '.', 1) = ${kind}`]);
  return newestOfGroups('audit_entry', query, actions, [['entry.action', sql`of.action`]], conditions);
}

function actorIs(actor: string): readonly [string, Sql] {
  if ((auditActorKinds as readonly string[]).includes(actor)) return [actorColumn, sql`${actor}`];
  return ['entry.user_id', sql`(SELECT id FROM app_user WHERE email = ${normalEmail(actor)})`];
}

function readRows(db: Prisma, query: AuditQuery): Promise<Row[]> {
  return db.$queryRaw<Row[]>`
    SELECT entry.id, entry.created_at AS "createdAt", action, ${sqlText(outcomeColumn)} AS outcome, number AS "userNumber", email,
           account, operator, target_kind AS "targetKind", target_id AS "targetId", target_name AS "targetName",
           request_id AS "requestId", detail, changes
    FROM (${pageOfLog(query)}) AS page
    JOIN audit_entry AS entry ON entry.id = page.id
    LEFT JOIN app_user ON app_user.id = entry.user_id
    ORDER BY entry.created_at DESC, entry.id DESC`;
}

function recordOf({ id, createdAt, action, outcome, requestId, detail, changes, ...of }: Row): AuditRecord {
  return {
    source: 'api',
    number: id,
    createdAt,
    action,
    outcome,
    requestId,
    // The log is all that is left of a credential.
    detail: of.account === null ? detail : { ...detail, credential: credentialOf(of.account) },
    changes,
    dns: null,
    kind: action.split('.')[0] as string,
    actor: actorOf(of),
    target: { kind: of.targetKind, id: of.targetId, name: of.targetName },
  };
}

function actorOf({ userNumber, email, account, operator }: Actor): AuditRecord['actor'] {
  if (userNumber !== null) return { kind: 'user', id: String(userNumber), name: email };
  if (account !== null) return { kind: 'account', id: account.id, name: account.name };
  return { kind: operator === null ? 'service' : 'operator', id: null, name: operator };
}

/** How the log shows the credential of an account. */
export const credentialOf = ({ tokenId, issuer, subject }: AuditedAccount) => ({ tokenId, issuer, subject });
