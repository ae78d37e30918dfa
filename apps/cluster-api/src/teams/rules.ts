import { isDeepStrictEqual } from 'node:util';
import type { DnsTokenHandling, Role, UserId } from '@corral/contracts';
import { invalidField, notFound, Problem } from '../problem.js';
import type { MemberRecord } from './store.js';

export type MemberChange =
  | { readonly kind: 'role'; readonly role: Role }
  | { readonly kind: 'remove'; readonly dnsTokens: DnsTokenHandling };

export type MemberDecision = { readonly kind: 'unchanged' | 'change' | 'remove'; readonly member: RuledMember };

/** The fields of a member that the rules need. */
export type RuledMember = Pick<MemberRecord, 'number' | 'userId' | 'role'>;

/**
 * Checks that the user is still an administrator. They may have lost the role since the request was authorized.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export function requireAdmin(members: readonly RuledMember[], userId: UserId): void {
  const caller = members.find((member) => member.userId === userId);
  if (caller === undefined) throw notFound();
  if (caller.role !== 'admin') throw adminNeeded();
}

const adminNeeded = (): Problem =>
  new Problem('permission_denied', 'Only administrators of the team can do this. Ask one of them.');

/**
 * Decides about a change or removal of a member. A team always keeps an administrator.
 *
 * @param members all members of the team
 * @param callerId the user who makes the request
 * @param memberNumber the membership to change
 * @throws Problem `not_found`, `permission_denied`, `last_admin`
 */
export function decideMemberChange<M extends RuledMember>(
  members: readonly M[],
  callerId: string,
  memberNumber: number,
  change: MemberChange,
): MemberDecision & { readonly member: M } {
  const caller = members.find(({ userId }) => userId === callerId);
  const member = members.find(({ number }) => number === memberNumber);
  if (caller === undefined || member === undefined) throw notFound();
  const leaves = change.kind === 'remove' && member.userId === callerId;
  // Whether tokens outlive their creator is the team's decision, not the creator's.
  const handsOver = change.kind === 'remove' && change.dnsTokens === 'hand_over';
  if (caller.role !== 'admin' && (!leaves || handsOver)) throw adminNeeded();
  if (change.kind === 'role' && change.role === member.role) return { kind: 'unchanged', member };
  const staysAdmin = change.kind === 'role' && change.role === 'admin';
  if (member.role === 'admin' && !staysAdmin && members.filter(({ role }) => role === 'admin').length === 1) {
    throw new Problem(
      'last_admin',
      `${leaves ? 'You are' : 'This is'} the team’s last administrator. Make another member administrator first.`,
    );
  }
  return { kind: change.kind === 'role' ? 'change' : 'remove', member };
}

/**
 * Clients may send back what they read. A changed read-only field is refused with a pointer, because the change would
 * be lost.
 *
 * @param sent the parsed body, without unknown fields
 * @param present the resource as the caller currently sees it
 * @param writable the fields that the request may change
 * @throws Problem `immutable_field`
 */
export function refuseReadOnlyChanges(
  sent: Readonly<Record<string, unknown>>,
  present: object,
  writable: readonly string[],
): void {
  const now = present as Readonly<Record<string, unknown>>;
  for (const [field, value] of Object.entries(sent)) {
    if (writable.includes(field) || isDeepStrictEqual(value, now[field])) continue;
    throw invalidField('immutable_field', `/${field}`, 'is read-only. Omit it, or send its current value');
  }
}
