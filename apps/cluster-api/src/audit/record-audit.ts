import type { AuditAction, FieldChange, TeamId, UserId } from '@corral/contracts';
import type { Transaction } from '../changes/team-changes.js';

/** Who acted in which team. Without a user or an account it was the service or a trusted system. */
export interface AuditActor {
  readonly userId: UserId | null;
  readonly account?: AuditedAccount | null;
  readonly team: { readonly id: TeamId };
  readonly requestId: string;
}

/** What the log keeps of a service account, which may be deleted later. */
export interface AuditedAccount {
  readonly id: string;
  readonly name: string;
  readonly tokenId: string;
  /** Of the token that was exchanged; null for a token that a person created. */
  readonly issuer: string | null;
  readonly subject: string | null;
}

export function auditedAccountOf({ account }: Pick<AuditActor, 'account'>): AuditedAccount | null {
  if (account == null) return null;
  const { id, name, tokenId, issuer, subject } = account;
  return { id, name, tokenId, issuer, subject };
}

export interface AuditedChange {
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  /** What the action changed. Must not contain secrets. */
  readonly changes?: readonly FieldChange[] | null;
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Writes an audit entry in the transaction of the change. @returns the id of the entry */
export async function recordAudit(
  tx: Transaction,
  caller: AuditActor,
  { action, target, changes = null, detail = {} }: AuditedChange,
): Promise<bigint> {
  const account = auditedAccountOf(caller);
  const { id } = await tx.auditEntry.create({
    select: { id: true },
    data: {
      teamId: caller.team.id,
      userId: caller.userId,
      ...(account === null ? {} : { account: { ...account } }),
      action,
      targetKind: target.kind,
      targetId: target.id,
      targetName: target.name,
      requestId: caller.requestId,
      detail: { ...detail },
      // Values of any type, which Prisma's type of JSON does not accept.
      ...(changes === null ? {} : { changes: JSON.parse(JSON.stringify(changes)) }),
    },
  });
  return id;
}
