import { clusterLimits, type Role } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { refusalOf } from '../../test/support/refusal.js';
import type { Problem } from '../problem.js';
import {
  checkRenewal,
  decideAcceptance,
  decideInvitation,
  expiryFrom,
  type InvitationContext,
  stateOf,
} from './rules.js';

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
