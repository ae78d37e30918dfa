import { type AuditOutcome, type FieldChange, normalEmail } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import type { AuditQuery, AuditRecord, ReadLog } from './log.js';
import type { AuditedAccount } from './record-audit.js';

interface Row {
  readonly id: bigint;
  readonly createdAt: Date;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly userNumber: number | null;
  readonly email: string | null;
  readonly account: AuditedAccount | null;
  readonly operator: string | null;
  readonly targetKind: string;
  readonly targetId: string;
  readonly targetName: string;
  readonly requestId: string | null;
  readonly detail: object;
  readonly changes: readonly FieldChange[] | null;
}

/** Entries about calls of this API. Most are written in the transaction of the change and are complete immediately. */
export const apiAudit =
  (prisma: Prisma): ReadLog =>
  async (query) => {
    const { type, token, kind } = query.filters;
    if (type !== null || token !== null || kind === 'dns') return { records: [], hasMore: false };
    const rows = await readRows(prisma, { ...query, limit: query.limit + 1 });
    return { records: rows.slice(0, query.limit).map(recordOf), hasMore: rows.length > query.limit };
  };

function readRows(prisma: Prisma, { teamId, filters, after, limit }: AuditQuery): Promise<Row[]> {
  const { kind, action, outcome, name, actor, from, to } = filters;
  return prisma.$queryRaw<Row[]>`
    SELECT entry.id, entry.created_at AS "createdAt", action, outcome, number AS "userNumber", email, account, operator,
           target_kind AS "targetKind", target_id AS "targetId", target_name AS "targetName",
           request_id AS "requestId", detail, changes
    FROM (
      -- The entry of a kubeconfig is written before the issue and completed with its outcome.
      SELECT *, CASE WHEN action = 'service_account.refuse_exchange' THEN 'refused'
                     WHEN action <> 'kubeconfig.issue' OR detail->'issued' = 'true' THEN 'completed'
                     WHEN detail->'issued' = 'false' THEN 'refused' ELSE 'pending' END AS outcome
      FROM audit_entry
    ) AS entry
    LEFT JOIN app_user ON app_user.id = entry.user_id
    WHERE team_id = ${teamId}::uuid
      AND (entry.created_at, entry.id) <
          (coalesce(${after?.createdAt ?? null}::timestamptz, 'infinity'), ${after?.number ?? 0n}::bigint)
      AND entry.created_at >= coalesce(${from}::timestamptz, '-infinity')
      AND entry.created_at < coalesce(${to}::timestamptz, 'infinity')
      AND (${kind}::text IS NULL OR split_part(action, '.', 1) = ${kind}::text)
      AND (${action}::text IS NULL OR action = ${action}::text)
      AND (${outcome}::text IS NULL OR outcome = ${outcome}::text)
      AND (${name}::text IS NULL OR target_name = ${name}::text)
      AND CASE WHEN ${actor}::text IS NULL THEN true
               WHEN ${actor}::text = 'user' THEN entry.user_id IS NOT NULL
               WHEN ${actor}::text = 'account' THEN entry.account IS NOT NULL
               WHEN ${actor}::text = 'operator' THEN entry.operator IS NOT NULL
               WHEN ${actor}::text = 'service' THEN entry.user_id IS NULL AND entry.account IS NULL AND entry.operator IS NULL
               ELSE email = ${actor === null ? null : normalEmail(actor)}::text END
    ORDER BY entry.created_at DESC, entry.id DESC LIMIT ${limit}`;
}

function recordOf({ id, createdAt, action, outcome, requestId, detail, changes, ...of }: Row): AuditRecord {
  return {
    source: 'api',
    number: id,
    createdAt,
    action,
    outcome,
    requestId,
    // Of which credential: the log is what is left of it.
    detail: of.account === null ? detail : { ...detail, credential: credentialOf(of.account) },
    changes,
    dns: null,
    kind: action.split('.')[0] as string,
    actor: actorOf(of),
    target: { kind: of.targetKind, id: of.targetId, name: of.targetName },
  };
}

function actorOf({
  userNumber,
  email,
  account,
  operator,
}: Pick<Row, 'userNumber' | 'email' | 'account' | 'operator'>): AuditRecord['actor'] {
  if (userNumber !== null) return { kind: 'user', id: String(userNumber), name: email };
  if (account !== null) return { kind: 'account', id: account.id, name: account.name };
  return { kind: operator === null ? 'service' : 'operator', id: null, name: operator };
}

const credentialOf = ({ tokenId, issuer, subject }: AuditedAccount) => ({ tokenId, issuer, subject });
