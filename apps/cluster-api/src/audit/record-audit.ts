import { isDeepStrictEqual } from 'node:util';
import type { AuditAction, FieldChange, TeamId, UserId } from '@corral/contracts';
import type { Transaction } from '../changes/team-changes.js';

/** The one who acted, and the team. Without a user or an account it was the service or a trusted system. */
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
  /** The issuer of the token that was exchanged; null for a token that a person created. */
  readonly issuer: string | null;
  readonly subject: string | null;
}

function auditedAccountOf({ account }: AuditActor): AuditedAccount | null {
  if (account == null) return null;
  const { id, name, tokenId, issuer, subject } = account;
  return { id, name, tokenId, issuer, subject };
}

export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface AuditedChange {
  readonly action: AuditAction;
  readonly target: { readonly kind: string; readonly id: string; readonly name: string };
  /** What the action changed. Must not contain secrets. */
  readonly changes?: readonly FieldChange[] | null;
  readonly detail?: AuditDetail;
}

/**
 * Writes an audit entry in the transaction of the change.
 *
 * @param at the time of the change, if it was read under a lock. Otherwise the start of the transaction
 * @returns the id of the entry
 */
export async function recordAudit(
  tx: Transaction,
  caller: AuditActor,
  { action, target, changes = null, detail = {} }: AuditedChange,
  at: Date | null = null,
): Promise<bigint> {
  const account = auditedAccountOf(caller);
  const [row] = await tx.$queryRaw<{ id: bigint | number }[]>`
    INSERT INTO audit_entry (team_id, user_id, account, action, target_kind, target_id, target_name, request_id, detail, changes,
                             created_at)
    VALUES (${caller.team.id}::uuid, ${caller.userId}::uuid, ${account && JSON.stringify(account)}::jsonb, ${action},
            ${target.kind}, ${target.id}::uuid, ${target.name}, ${caller.requestId}, ${JSON.stringify(detail)}::jsonb,
            ${changes && JSON.stringify(changes)}::jsonb, coalesce(${at}::timestamptz, now()))
    RETURNING id`;
  return BigInt((row as { id: bigint | number }).id);
}

/**
 * What a declaration changes.
 *
 * @param from values by JSON pointer; null for what is new
 */
export function changesOf<P extends Readonly<Record<string, unknown>>>(from: P | null, to: P): FieldChange[] {
  return Object.entries(to)
    .map(([pointer, value]) => ({ pointer, from: from?.[pointer] ?? null, to: value }))
    .filter((change) => !isDeepStrictEqual(change.from, change.to));
}
