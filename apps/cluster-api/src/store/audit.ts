import type { AuditAction } from '@corral/contracts';
import type { Transaction } from './team-changes.js';

/** Who acted, and in which team. Without a user it was the service, or whom it trusts. */
export interface AuditActor {
  readonly userId: string | null;
  readonly team: { readonly id: string };
  readonly requestId: string;
}

export interface AuditedChange {
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  /** Never a secret. */
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Writes down who did what, in the transaction that does it. @returns the id of the entry */
export async function recordAudit(
  tx: Transaction,
  caller: AuditActor,
  { action, target, detail = {} }: AuditedChange,
): Promise<bigint> {
  const { id } = await tx.auditEntry.create({
    select: { id: true },
    data: {
      teamId: caller.team.id,
      userId: caller.userId,
      action,
      targetKind: target.kind,
      targetId: target.id,
      targetName: target.name,
      requestId: caller.requestId,
      detail: { ...detail },
    },
  });
  return id;
}
