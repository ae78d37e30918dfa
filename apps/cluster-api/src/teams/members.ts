import { type FormerMemberDnsToken, findDnsTokensOf, revokeOrHandOverDnsTokens } from '@corral/auth';
import type { DnsTokenHandling, MemberPut } from '@corral/contracts';
import { recordAudit } from '../audit/record-audit.js';
import type { PersonCaller } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import type { ChangeTeam, Transaction } from '../changes/team-changes.js';
import { decideMemberChange, refuseReadOnlyChanges } from './rules.js';
import { deleteMember, listMembers, type MemberRecord, type Removal, writeRole } from './store.js';
import { memberBody, memberTagOf } from './view.js';

/** A change of the role of a member, by the number of the membership. */
export interface RoleChange {
  readonly memberNumber: number;
  readonly put: MemberPut;
  /** What happens to the DNS tokens of a member who becomes a viewer. */
  readonly dnsTokens: DnsTokenHandling;
  readonly preconditions: Preconditions;
}

/**
 * Changes the role of a member. Viewers change nothing, and with their DNS tokens they could: these are revoked or handed over.
 *
 * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`, `immutable_field`
 */
export const setRole = (changeTeam: ChangeTeam, caller: PersonCaller, change: RoleChange): Promise<MemberRecord> =>
  changeTeam(caller, async (tx) => {
    const { team } = caller;
    const { put, dnsTokens } = change;
    const { role } = put;
    const { member, isChanged, losesTokens } = await checkedRoleChange(tx, caller, change);
    if (!isChanged) return member;
    const left = losesTokens ? await revokeOrHandOverDnsTokens(tx, team.id, member.userId, dnsTokens, caller) : [];
    await writeRole(tx, team.id, member.userId, role);
    await recordAudit(tx, caller, {
      action: 'member.change',
      target: targetOf(member),
      changes: [{ pointer: '/role', from: member.role, to: role }],
      ...(left.length > 0 && {
        detail: { [dnsTokens === 'revoke' ? 'dnsTokensRevoked' : 'dnsTokensHandedOver']: namesOf(left) },
      }),
    });
    return { ...member, role };
  });

/**
 * What a change of a role would end.
 *
 * @throws Problem like `setRole`
 */
export async function planRole(
  db: Transaction,
  caller: PersonCaller,
  change: RoleChange,
): Promise<{ readonly member: MemberRecord; readonly left: Removal }> {
  const { member, losesTokens } = await checkedRoleChange(db, caller, change);
  const tokens = losesTokens ? await findDnsTokensOf(db, caller.team.id, member.userId) : [];
  return { member: { ...member, role: change.put.role }, left: removalOf(tokens, change.dnsTokens) };
}

async function checkedRoleChange(
  db: Transaction,
  { team, userId }: PersonCaller,
  { memberNumber, put, preconditions }: RoleChange,
) {
  const { role } = put;
  const members = await listMembers(db, team.id);
  const { kind, member } = decideMemberChange(members, userId, memberNumber, { kind: 'role', role });
  checkPreconditions(preconditions, memberTagOf(member));
  refuseReadOnlyChanges(put, memberBody(member), ['role']);
  const isChanged = kind !== 'unchanged';
  return { member, isChanged, losesTokens: isChanged && role === 'viewer' };
}

const removalOf = (tokens: readonly FormerMemberDnsToken[], handling: DnsTokenHandling): Removal =>
  handling === 'revoke' ? { revoked: tokens, handedOver: [] } : { revoked: [], handedOver: tokens };

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
    const removal = removalOf(left, dnsTokens);
    const { revoked, handedOver } = removal;
    await recordAudit(tx, caller, {
      action: member.userId === userId ? 'member.leave' : 'member.remove',
      target: targetOf(member),
      detail: { role: member.role, dnsTokensRevoked: namesOf(revoked), dnsTokensHandedOver: namesOf(handedOver) },
    });
    return removal;
  });

const namesOf = (tokens: readonly FormerMemberDnsToken[]): string => tokens.map(({ name }) => name).join(', ');

const targetOf = ({ userId, email }: MemberRecord) => ({ kind: 'Member', id: userId, name: email });
