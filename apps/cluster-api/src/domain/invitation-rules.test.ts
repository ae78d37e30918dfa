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
  standingOf,
} from './invitation-rules.js';

const NOW = new Date('2026-11-21T12:00:00Z');
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const EMAIL = 'ada@acme.test';

const waiting = { expiresAt: at(1), acceptedAt: null, revokedAt: null };
const expired = { ...waiting, expiresAt: NOW };
const accepted = { ...waiting, acceptedAt: at(-5) };
const revoked = { ...waiting, revokedAt: at(-5) };

const context = (more: Partial<InvitationContext> = {}): InvitationContext => ({
  ...{ now: NOW, waiting: 0, mails: [] },
  ...more,
});
const mails = (count: number, email: string, minutesAgo = 1) =>
  Array.from({ length: count }, () => ({ email, at: at(-minutesAgo) }));

describe('an invitation', () => {
  it('holds for 14 days and not a moment longer', () => {
    const invitation = { ...waiting, expiresAt: expiryFrom(NOW) };

    expect(standingOf(invitation, new Date(NOW.getTime() + 14 * 86_400_000 - 1))).toBe('waiting');
    expect(standingOf(invitation, new Date(NOW.getTime() + 14 * 86_400_000))).toBe('expired');
  });

  it('is revoked for good, whatever else happened to it', () => {
    expect(standingOf({ ...accepted, revokedAt: at(-1) }, NOW)).toBe('revoked');
  });

  it.each([
    ['of a new address makes one', null, 'create'],
    ['of an address whose invitation waits renews it', waiting, 'renew'],
    ['of an address whose invitation has run out renews it', expired, 'renew'],
    ['of somebody who had accepted and left makes another', accepted, 'replace'],
    ['of an address whose invitation was revoked makes another: the old link stays dead', revoked, 'replace'],
  ])('%s', (_what, present, kind) => {
    expect(decideInvitation(present, false, EMAIL, context())).toEqual({ kind });
  });

  it('of a member is refused', () => {
    expect(refusalOf(() => decideInvitation(waiting, true, EMAIL, context()))).toEqual(['already_member']);
  });
});

describe('the quota of invitations', () => {
  const full = context({ waiting: clusterLimits.invitationsPerTeam });

  it.each([
    ['a new one', null],
    ['one that has run out', expired],
    ['one that was revoked', revoked],
  ])('holds for %s', (_what, present) => {
    expect(refusalOf(() => decideInvitation(present, false, EMAIL, full))).toEqual(['quota_exceeded']);
  });

  it('does not hold up one that waits already', () => {
    expect(decideInvitation(waiting, false, EMAIL, full)).toEqual({ kind: 'renew' });
  });
});

describe('mails within an hour', () => {
  const { invitationMailsPerAddressPerHour: perAddress, invitationMailsPerTeamPerHour: perTeam } = clusterLimits;

  it.each([
    ['to one address', mails(perAddress - 1, EMAIL), null],
    ['to one address, and one more', mails(perAddress, EMAIL), 'rate_limit_exceeded'],
    ['to other addresses', mails(perTeam - 1, 'bob@acme.test'), null],
    ['to other addresses, and one more', mails(perTeam, 'bob@acme.test'), 'rate_limit_exceeded'],
  ])('are bounded: %s', (_what, sent, code) => {
    const refusals = [
      refusalOf(() => decideInvitation(waiting, false, EMAIL, context({ mails: sent }))),
      refusalOf(() => checkRenewal(waiting, EMAIL, context({ mails: sent }))),
    ];

    expect(refusals).toEqual(refusals.map(() => (code === null ? null : [code])));
  });

  it('say when there is room again', () => {
    const sent = [...mails(perAddress - 1, EMAIL, 10), ...mails(1, EMAIL, 50)];
    let problem: unknown;
    try {
      checkRenewal(waiting, EMAIL, context({ mails: sent }));
    } catch (error) {
      problem = error;
    }

    expect((problem as Problem).retryAfterSeconds).toBe(600);
  });
});

describe('a renewal', () => {
  it.each([
    ['one that waits', waiting, null],
    ['one that has run out', expired, null],
    ['one that was accepted', accepted, ['not_found']],
    ['one that was revoked', revoked, ['not_found']],
    ['none', null, ['not_found']],
  ])('of %s', (_what, present, refusal) => {
    expect(refusalOf(() => checkRenewal(present, EMAIL, context()))).toEqual(refusal);
  });
});

describe('an acceptance', () => {
  const accept = (invitation: typeof waiting | typeof accepted | typeof revoked, role: Role, present: Role | null) =>
    decideAcceptance({ ...invitation, role }, present, NOW);

  it.each<[string, Role, Role | null, Role]>([
    ['by a stranger gives the role', 'admin', null, 'admin'],
    ['by a stranger gives the role', 'member', null, 'member'],
    ['by somebody who is a member meanwhile makes them what they were invited as', 'admin', 'member', 'admin'],
    ['by an administrator takes nothing away', 'member', 'admin', 'admin'],
  ])('%s', (_what, invited, present, role) => {
    expect(accept(waiting, invited, present)).toEqual({ kind: 'accept', role });
  });

  it('that is repeated changes nothing, a role that was given since least of all', () => {
    expect(accept(accepted, 'admin', 'member')).toEqual({ kind: 'unchanged' });
  });

  it('leads nobody back who has left', () => {
    expect(refusalOf(() => accept(accepted, 'member', null))).toEqual(['not_found']);
  });

  it('comes too late for one that has run out, and there was none for one that was revoked', () => {
    expect(refusalOf(() => accept(expired, 'member', null))).toEqual(['invitation_expired']);
    expect(refusalOf(() => accept(revoked, 'member', null))).toEqual(['not_found']);
  });
});
