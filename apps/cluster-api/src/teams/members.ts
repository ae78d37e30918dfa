import { type FormerMemberDnsToken, revokeOrHandOverDnsTokens } from '@corral/auth';
import type { DnsTokenHandling, MemberPut } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import type { ChangeTeam } from '../changes/team-changes.js';
import { decideMemberChange, refuseReadOnlyChanges } from './rules.js';
import { deleteMember, listMembers, type MemberRecord, type Removal, writeRole } from './store.js';
import { memberBody, memberTagOf } from './view.js';

/**
 * Changes the role of a member. The DNS tokens of a member who becomes a viewer are revoked.
 *
 * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`, `immutable_field`
 */
export const setRole = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  memberNumber: number,
  put: MemberPut,
  preconditions: Preconditions,
): Promise<MemberRecord> =>
  changeTeam(caller, async (tx) => {
    const { team, userId } = caller;
    const { role } = put;
    const members = await listMembers(tx, team.id);
    const { kind, member } = decideMemberChange(members, userId, memberNumber, { kind: 'role', role });
    checkPreconditions(preconditions, memberTagOf(member));
    refuseReadOnlyChanges(put, memberBody(member), ['role']);
    if (kind === 'unchanged') return member;
    // Viewers change nothing, and with their DNS tokens they could.
    const revoked =
      role === 'viewer' ? await revokeOrHandOverDnsTokens(tx, team.id, member.userId, 'revoke', caller) : [];
    await writeRole(tx, team.id, member.userId, role);
    await recordAudit(tx, caller, {
      action: 'member.change',
      target: targetOf(member),
      changes: [{ pointer: '/role', from: member.role, to: role }],
      ...(revoked.length > 0 && { detail: { dnsTokensRevoked: namesOf(revoked) } }),
    });
    return { ...member, role };
  });

/**
 * Removes a member. Their DNS tokens are revoked, because they would keep access with them, unless an administrator
 * hands them over to the team.
 *
 * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`
 */
export const removeMember = (
  changeTeam: ChangeTeam,
  caller: PersonCaller,
  memberNumber: number,
  dnsTokens: DnsTokenHandling,
  preconditions: Preconditions,
): Promise<Removal> =>
  changeTeam(caller, async (tx, now) => {
    const { team, userId } = caller;
    const members = await listMembers(tx, team.id);
    const { member } = decideMemberChange(members, userId, memberNumber, { kind: 'remove', dnsTokens });
    checkPreconditions(preconditions, memberTagOf(member));
    const left = await revokeOrHandOverDnsTokens(tx, team.id, member.userId, dnsTokens, caller);
    await deleteMember(tx, team.id, member, now);
    const [revoked, handedOver] = dnsTokens === 'revoke' ? [left, []] : [[], left];
    await recordAudit(tx, caller, {
      action: member.userId === userId ? 'member.leave' : 'member.remove',
      target: targetOf(member),
      detail: { role: member.role, dnsTokensRevoked: namesOf(revoked), dnsTokensHandedOver: namesOf(handedOver) },
    });
    return { revoked, handedOver };
  });

const namesOf = (tokens: readonly FormerMemberDnsToken[]): string => tokens.map(({ name }) => name).join(', ');

const targetOf = ({ userId, email }: MemberRecord) => ({ kind: 'Member', id: userId, name: email });
