import type { LeftDnsToken } from '@corral/auth';
import type { LeftTokenFate, MemberPut, TeamPut } from '@corral/contracts';
import { invalidField } from '../problem.js';
import type { Caller } from './caller.js';
import { checkPreconditions, type Preconditions } from './entity-tag.js';
import { decideMemberChange, type MemberWish, requireAdmin } from './member-rules.js';
import { refuseReadOnlyChanges } from './read-only-fields.js';
import { type DashboardUrlOf, memberBody, memberTagOf, teamBody, teamTagOf } from './team-body.js';
import type { MemberRecord, TeamRecord } from './team-record.js';
import type { TeamStore, TeamTransaction } from './team-transaction.js';

export interface TeamServiceDeps {
  readonly store: Pick<TeamStore, 'change'>;
  readonly urlOf: DashboardUrlOf;
}

/** The DNS tokens of somebody who left, by name. */
export interface Removal {
  readonly revoked: readonly LeftDnsToken[];
  readonly handedOver: readonly LeftDnsToken[];
}

export type TeamService = ReturnType<typeof teamService>;

/** Changes of a team and its members. */
export const teamService = ({ store, urlOf }: TeamServiceDeps) => ({
  /**
   * Gives the team its name.
   *
   * @throws Problem `precondition_failed`, `immutable_field` for anything else that differs
   */
  rename: (caller: Caller, put: TeamPut, preconditions: Preconditions): Promise<TeamRecord> =>
    store.change(caller, async (tx) => {
      requireAdmin(tx.members, caller.userId);
      const { slug, name } = tx.team;
      if (put.slug !== undefined && put.slug !== slug) {
        throw invalidField(
          'immutable_field',
          '/slug',
          `is ${slug} and cannot change. It is part of the team’s names in the zone`,
        );
      }
      const present = await tx.read();
      checkPreconditions(preconditions, teamTagOf(present, { isAdmin: true, urlOf }));
      refuseReadOnlyChanges(put, teamBody(present, { isAdmin: true, urlOf }), ['name', 'slug']);
      if (put.name === name) return present;
      await tx.rename(put.name);
      await tx.audit('team.rename', { kind: 'Team', id: tx.team.id, name: slug }, { from: name, to: put.name });
      return { ...present, name: put.name };
    }),

  /** @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`, `immutable_field` */
  setRole: (
    caller: Caller,
    memberNumber: number,
    put: MemberPut,
    preconditions: Preconditions,
  ): Promise<MemberRecord> =>
    store.change(caller, async (tx) => {
      const { role } = put;
      const { kind, member } = decideMemberChange(tx.members, caller.userId, memberNumber, { kind: 'role', role });
      checkPreconditions(preconditions, memberTagOf(member));
      refuseReadOnlyChanges(put, memberBody(member), ['role']);
      if (kind === 'unchanged') return member;
      await tx.setRole(member, role);
      await tx.audit('member.change', targetOf(member), { from: member.role, to: role });
      return { ...member, role };
    }),

  /**
   * What runs with a token of somebody who left would go on in their hands: so it ends with the membership, unless an
   * administrator knows better.
   *
   * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`
   */
  removeMember: (
    caller: Caller,
    memberNumber: number,
    dnsTokens: LeftTokenFate,
    preconditions: Preconditions,
  ): Promise<Removal> =>
    store.change(caller, async (tx) => {
      const wish: MemberWish = { kind: 'remove', dnsTokens };
      const { member } = decideMemberChange(tx.members, caller.userId, memberNumber, wish);
      checkPreconditions(preconditions, memberTagOf(member));
      const left = await tx.leaveDnsTokens(member, dnsTokens);
      await tx.removeMember(member);
      const action = member.userId === caller.userId ? 'member.leave' : 'member.remove';
      const [revoked, handedOver] = dnsTokens === 'revoke' ? [left, []] : [[], left];
      await tx.audit(action, targetOf(member), {
        role: member.role,
        dnsTokensRevoked: namesOf(revoked),
        dnsTokensHandedOver: namesOf(handedOver),
      });
      return { revoked, handedOver };
    }),
});

const namesOf = (tokens: readonly LeftDnsToken[]): string => tokens.map(({ name }) => name).join(', ');

const targetOf = ({ userId, email }: MemberRecord): Parameters<TeamTransaction['audit']>[1] => ({
  ...{ kind: 'Member', id: userId, name: email },
});
