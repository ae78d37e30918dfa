import { asUserId, clusterLimits, type Role } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { refusalOf } from '../../test/support/refusal.js';
import {
  checkRenewal,
  decideAcceptance,
  decideInvitation,
  expiryFrom,
  type InvitationContext,
  stateOf,
} from '../invitations/rules.js';
import type { Problem } from '../problem.js';
import { decideMemberChange, type MemberChange, type RuledMember, requireAdmin } from './rules.js';
import { dashboardUrlOf } from './view.js';

const aMember = (number: number, role: Role): RuledMember => ({ number, role, userId: asUserId(`u${number}`) });
const team = [aMember(1, 'admin'), aMember(2, 'member'), aMember(3, 'admin')];
const oneAdmin = [aMember(1, 'admin'), aMember(2, 'member')];
const to = (role: Role): MemberChange => ({ kind: 'role', role });
const remove: MemberChange = { kind: 'remove', dnsTokens: 'revoke' };
const handOver: MemberChange = { kind: 'remove', dnsTokens: 'hand_over' };

describe('a change of a member', () => {
  it.each<[string, RuledMember[], string, number, MemberChange, string]>([
    ['a promotion', team, 'u1', 2, to('admin'), 'change'],
    ['a demotion', team, 'u1', 3, to('member'), 'change'],
    ['an administrator who steps back', team, 'u1', 1, to('member'), 'change'],
    ['the current role', team, 'u1', 3, to('admin'), 'unchanged'],
    ['the current role of the only administrator', oneAdmin, 'u1', 1, to('admin'), 'unchanged'],
    ['a removal', oneAdmin, 'u1', 2, remove, 'remove'],
    ['a member who becomes a viewer', team, 'u1', 2, to('viewer'), 'change'],
    ['a member who leaves', oneAdmin, 'u2', 2, remove, 'remove'],
    ['one of two administrators who leaves', team, 'u1', 1, remove, 'remove'],
    ['a removal with tokens handed over', oneAdmin, 'u1', 2, handOver, 'remove'],
    ['an administrator who leaves and hands tokens over', team, 'u1', 1, handOver, 'remove'],
  ])('%s is accepted', (_what, members, callerId, number, change, kind) => {
    expect(decideMemberChange(members, callerId, number, change)).toEqual({
      kind,
      member: members.find((member) => member.number === number),
    });
  });

  it.each<[string, RuledMember[], string, number, MemberChange, string]>([
    ['the only administrator who leaves', oneAdmin, 'u1', 1, remove, 'last_admin'],
    ['the only administrator who steps back', oneAdmin, 'u1', 1, to('member'), 'last_admin'],
    ['a member who leaves and hands tokens over', team, 'u2', 2, handOver, 'permission_denied'],
    ['a member who removes another', team, 'u2', 1, remove, 'permission_denied'],
    ['a member who promotes themselves', team, 'u2', 2, to('admin'), 'permission_denied'],
    ['an unknown membership', team, 'u1', 9, remove, 'not_found'],
    ['a caller who is no longer a member', team, 'u9', 2, remove, 'not_found'],
    ['a removed member who removes themselves', oneAdmin, 'u3', 3, remove, 'not_found'],
  ])('%s is refused', (_what, members, callerId, number, change, code) => {
    expect(refusalOf(() => decideMemberChange(members, callerId, number, change))).toEqual([code]);
  });
});

it('the administrator check passes only for current administrators', () => {
  expect(refusalOf(() => requireAdmin(team, asUserId('u1')))).toBeNull();
  expect(refusalOf(() => requireAdmin(team, asUserId('u2')))).toEqual(['permission_denied']);
  expect(refusalOf(() => requireAdmin(team, asUserId('u9')))).toEqual(['not_found']);
});

describe('the link to a team', () => {
  const publicUrl = () => 'https://corral.test';
  const team = { slug: 'acme', number: 7 };

  it('leads to the console, or to the team in the API where there is none', () => {
    const inConsole = dashboardUrlOf({ publicUrl, consoleUrl: () => 'https://corral.test/console' });

    expect(inConsole(team)).toBe('https://corral.test/console/teams/acme/');
    expect(dashboardUrlOf({ publicUrl, consoleUrl: () => null })(team)).toBe('https://corral.test/teams/api/teams/7/');
  });
});

const NOW = new Date('2026-11-21T12:00:00Z');
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const EMAIL = 'ada@acme.test';

const open = { expiresAt: at(1), acceptedAt: null, revokedAt: null };
const expired = { ...open, expiresAt: NOW };
const accepted = { ...open, acceptedAt: at(-5) };
const revoked = { ...open, revokedAt: at(-5) };

const context = (more: Partial<InvitationContext> = {}): InvitationContext => ({
  now: NOW,
  open: 0,
  mails: [],
  ...more,
});
const mails = (count: number, email: string, minutesAgo = 1) =>
  Array.from({ length: count }, () => ({ email, at: at(-minutesAgo) }));

describe('an invitation', () => {
  it('expires after exactly 14 days', () => {
    const invitation = { ...open, expiresAt: expiryFrom(NOW) };

    expect(stateOf(invitation, new Date(NOW.getTime() + 14 * 86_400_000 - 1))).toBe('open');
    expect(stateOf(invitation, new Date(NOW.getTime() + 14 * 86_400_000))).toBe('expired');
  });

  it('stays revoked even when it was accepted', () => {
    expect(stateOf({ ...accepted, revokedAt: at(-1) }, NOW)).toBe('revoked');
  });

  it.each([
    ['to a new address creates one', null, 'create'],
    ['to an address with an open invitation renews it', open, 'renew'],
    ['to an address with an expired invitation renews it', expired, 'renew'],
    ['to a former member replaces the accepted one', accepted, 'replace'],
    ['to an address with a revoked invitation replaces it, so the old link stays invalid', revoked, 'replace'],
  ])('%s', (_what, present, kind) => {
    expect(decideInvitation(present, false, EMAIL, context())).toEqual({ kind });
  });

  it('to a member is refused', () => {
    expect(refusalOf(() => decideInvitation(open, true, EMAIL, context()))).toEqual(['already_member']);
  });
});

describe('the quota of invitations', () => {
  const full = context({ open: clusterLimits.invitationsPerTeam });

  it.each([
    ['a new invitation', null],
    ['an expired invitation', expired],
    ['a revoked invitation', revoked],
  ])('applies to %s', (_what, present) => {
    expect(refusalOf(() => decideInvitation(present, false, EMAIL, full))).toEqual(['quota_exceeded']);
  });

  it('does not block the renewal of an open invitation', () => {
    expect(decideInvitation(open, false, EMAIL, full)).toEqual({ kind: 'renew' });
  });
});

describe('invitation mails within an hour', () => {
  const { invitationMailsPerAddressPerHour: perAddress, invitationMailsPerTeamPerHour: perTeam } = clusterLimits;

  it.each([
    ['up to the limit per address', mails(perAddress - 1, EMAIL), null],
    ['above the limit per address', mails(perAddress, EMAIL), 'rate_limit_exceeded'],
    ['up to the limit per team', mails(perTeam - 1, 'bob@acme.test'), null],
    ['above the limit per team', mails(perTeam, 'bob@acme.test'), 'rate_limit_exceeded'],
  ])('are limited: %s', (_what, sent, code) => {
    const refusals = [
      refusalOf(() => decideInvitation(open, false, EMAIL, context({ mails: sent }))),
      refusalOf(() => checkRenewal(open, EMAIL, context({ mails: sent }))),
    ];

    expect(refusals).toEqual(refusals.map(() => (code === null ? null : [code])));
  });

  it('are refused with the time until the next one is allowed', () => {
    const sent = [...mails(perAddress - 1, EMAIL, 10), ...mails(1, EMAIL, 50)];
    let problem: unknown;
    try {
      checkRenewal(open, EMAIL, context({ mails: sent }));
    } catch (error) {
      problem = error;
    }

    expect((problem as Problem).retryAfterSeconds).toBe(600);
  });
});

describe('a renewal', () => {
  it.each([
    ['an open invitation', open, null],
    ['an expired invitation', expired, null],
    ['an accepted invitation', accepted, ['not_found']],
    ['a revoked invitation', revoked, ['not_found']],
    ['an unknown invitation', null, ['not_found']],
  ])('of %s', (_what, present, refusal) => {
    expect(refusalOf(() => checkRenewal(present, EMAIL, context()))).toEqual(refusal);
  });
});

describe('an acceptance', () => {
  const accept = (invitation: typeof open | typeof accepted | typeof revoked, role: Role, present: Role | null) =>
    decideAcceptance({ ...invitation, role }, present, NOW);

  it.each<[string, Role, Role | null, Role]>([
    ['by a new person gives the role', 'admin', null, 'admin'],
    ['by a new person gives the role', 'member', null, 'member'],
    ['by a member gives them the higher invited role', 'admin', 'member', 'admin'],
    ['by an administrator keeps their role', 'member', 'admin', 'admin'],
    ['by a viewer gives them the higher invited role', 'member', 'viewer', 'member'],
    ['to view, by a member, keeps their role', 'viewer', 'member', 'member'],
  ])('%s', (_what, invited, present, role) => {
    expect(accept(open, invited, present)).toEqual({ kind: 'accept', role });
  });

  it('that is repeated does not change the current role', () => {
    expect(accept(accepted, 'admin', 'member')).toEqual({ kind: 'unchanged' });
  });

  it('does not readmit a former member', () => {
    expect(refusalOf(() => accept(accepted, 'member', null))).toEqual(['not_found']);
  });

  it('of an expired or revoked invitation is refused', () => {
    expect(refusalOf(() => accept(expired, 'member', null))).toEqual(['invitation_expired']);
    expect(refusalOf(() => accept(revoked, 'member', null))).toEqual(['not_found']);
  });
});
