import type { LeftTokenFate, Role } from '@corral/contracts';
import { notFound, Problem } from '../problem.js';
import type { MemberRecord } from './team-record.js';

export type MemberWish =
  | { readonly kind: 'role'; readonly role: Role }
  | { readonly kind: 'remove'; readonly dnsTokens: LeftTokenFate };

export type MemberDecision = { readonly kind: 'unchanged' | 'change' | 'remove'; readonly member: RuledMember };

/** What of a member the rules look at. */
export type RuledMember = Pick<MemberRecord, 'number' | 'userId' | 'role'>;

/**
 * Checks that somebody is an administrator still: they may have lost the role, or the team, since their request came in.
 *
 * @throws Problem `not_found`, `permission_denied`
 */
export function requireAdmin(members: readonly RuledMember[], userId: string): void {
  const caller = members.find((member) => member.userId === userId);
  if (caller === undefined) throw notFound();
  if (caller.role !== 'admin') throw adminNeeded();
}

const adminNeeded = (): Problem =>
  new Problem('permission_denied', 'Only administrators of the team can do this. Ask one of them.');

/**
 * Decides what becomes of a member. Whatever wishes come, in whatever order: a team that has an administrator keeps one.
 *
 * @param members all of the team
 * @param callerId the user who asks
 * @param memberNumber the membership that it is about
 * @throws Problem `not_found`, `permission_denied`, `last_admin`
 */
export function decideMemberChange<M extends RuledMember>(
  members: readonly M[],
  callerId: string,
  memberNumber: number,
  wish: MemberWish,
): MemberDecision & { readonly member: M } {
  const caller = members.find(({ userId }) => userId === callerId);
  const member = members.find(({ number }) => number === memberNumber);
  if (caller === undefined || member === undefined) throw notFound();
  const leaves = wish.kind === 'remove' && member.userId === callerId;
  // What goes on with a token after its maker has gone is for the team to say, not for the maker.
  const handsOver = wish.kind === 'remove' && wish.dnsTokens === 'hand_over';
  if (caller.role !== 'admin' && (!leaves || handsOver)) throw adminNeeded();
  if (wish.kind === 'role' && wish.role === member.role) return { kind: 'unchanged', member };
  const staysAdmin = wish.kind === 'role' && wish.role === 'admin';
  if (member.role === 'admin' && !staysAdmin && members.filter(({ role }) => role === 'admin').length === 1) {
    throw new Problem(
      'last_admin',
      `${leaves ? 'You are' : 'This is'} the team’s last administrator. Make another member administrator first.`,
    );
  }
  return { kind: wish.kind === 'role' ? 'change' : 'remove', member };
}
