import type { FormerMemberDnsToken } from '@corral/auth';
import { type DnsTokenHandling, type MemberPut, readsAsForeignSlug, type TeamPut } from '@corral/contracts';
import canonicalize from 'canonicalize';
import type { PersonCaller } from '../changes/caller.js';
import { checkPreconditions, type Preconditions } from '../changes/entity-tag.js';
import { invalidField } from '../problem.js';
import { type DashboardUrlOf, memberBody, memberTagOf, teamBody, teamTagOf } from './body.js';
import { decideMemberChange, type MemberChange, requireAdmin } from './member-rules.js';
import type { MemberRecord, Removal, TeamRecord } from './record.js';
import type { TeamStore, TeamTransaction } from './transaction.js';

interface TeamServiceDeps {
  readonly store: Pick<TeamStore, 'change'>;
  readonly urlOf: DashboardUrlOf;
}

export type TeamService = ReturnType<typeof teamService>;

/** Changes of a team and its members. */
export const teamService = ({ store, urlOf }: TeamServiceDeps) => ({
  /**
   * Renames the team.
   *
   * @throws Problem `precondition_failed`, `validation_failed` for a name that reads as the slug of another team, `immutable_field`
   *   for any other changed field
   */
  rename: (caller: PersonCaller, put: TeamPut, preconditions: Preconditions): Promise<TeamRecord> =>
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
      if (readsAsForeignSlug(put.name, slug)) {
        throw invalidField(
          'validation_failed',
          '/name',
          `must not look like the slug of another team. Use a capital letter or a second word, or your own slug ${slug}`,
        );
      }
      await tx.rename(put.name);
      await tx.audit(
        'team.rename',
        { kind: 'Team', id: tx.team.id, name: slug },
        {
          changes: [{ pointer: '/name', from: name, to: put.name }],
        },
      );
      return { ...present, name: put.name };
    }),

  /**
   * Changes the role of a member. The DNS tokens of a member who becomes a viewer are revoked.
   *
   * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`, `immutable_field`
   */
  setRole: (
    caller: PersonCaller,
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
      // Viewers change nothing, and with their DNS tokens they could.
      const revoked = role === 'viewer' ? await tx.revokeOrHandOverDnsTokens(member, 'revoke') : [];
      await tx.setRole(member, role);
      await tx.audit('member.change', targetOf(member), {
        changes: [{ pointer: '/role', from: member.role, to: role }],
        ...(revoked.length === 0 ? {} : { detail: { dnsTokensRevoked: namesOf(revoked) } }),
      });
      return { ...member, role };
    }),

  /**
   * Removes a member. Their DNS tokens are revoked, because they would keep access with them, unless an administrator
   * hands them over to the team.
   *
   * @throws Problem `not_found`, `permission_denied`, `precondition_failed`, `last_admin`
   */
  removeMember: (
    caller: PersonCaller,
    memberNumber: number,
    dnsTokens: DnsTokenHandling,
    preconditions: Preconditions,
  ): Promise<Removal> =>
    store.change(caller, async (tx) => {
      const change: MemberChange = { kind: 'remove', dnsTokens };
      const { member } = decideMemberChange(tx.members, caller.userId, memberNumber, change);
      checkPreconditions(preconditions, memberTagOf(member));
      const left = await tx.revokeOrHandOverDnsTokens(member, dnsTokens);
      await tx.removeMember(member);
      const action = member.userId === caller.userId ? 'member.leave' : 'member.remove';
      const [revoked, handedOver] = dnsTokens === 'revoke' ? [left, []] : [[], left];
      const detail = {
        role: member.role,
        dnsTokensRevoked: namesOf(revoked),
        dnsTokensHandedOver: namesOf(handedOver),
      };
      await tx.audit(action, targetOf(member), { detail });
      return { revoked, handedOver };
    }),
});

const namesOf = (tokens: readonly FormerMemberDnsToken[]): string => tokens.map(({ name }) => name).join(', ');

const targetOf = ({ userId, email }: MemberRecord): Parameters<TeamTransaction['audit']>[1] => ({
  kind: 'Member',
  id: userId,
  name: email,
});

/**
 * Clients may send back what they read. A changed read-only field is refused with a pointer, because the change would
 * be lost.
 *
 * @param sent the parsed body, without unknown fields
 * @param present the resource as the caller currently sees it
 * @param writable the fields that the request may change
 * @throws Problem `immutable_field`
 */
function refuseReadOnlyChanges(
  sent: Readonly<Record<string, unknown>>,
  present: object,
  writable: readonly string[],
): void {
  const now = present as Readonly<Record<string, unknown>>;
  for (const [field, value] of Object.entries(sent)) {
    if (writable.includes(field) || canonicalize(value) === canonicalize(now[field])) continue;
    throw invalidField('immutable_field', `/${field}`, 'is read-only. Omit it, or send its current value');
  }
}
