import { clusterLimits, type Role } from '@corral/contracts';
import { invalidField, notFound, Problem } from '../problem.js';
import type { InvitationRecord } from '../teams/record.js';

export type InvitationStanding = 'waiting' | 'expired' | 'accepted' | 'revoked';
type Dated = Pick<InvitationRecord, 'expiresAt' | 'acceptedAt' | 'revokedAt'>;

export function standingOf({ expiresAt, acceptedAt, revokedAt }: Dated, now: Date): InvitationStanding {
  if (revokedAt !== null) return 'revoked';
  if (acceptedAt !== null) return 'accepted';
  return expiresAt > now ? 'waiting' : 'expired';
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Window of the mail limits in ms. */
export const MAIL_WINDOW_MS = HOUR_MS;

export const expiryFrom = (now: Date): Date => new Date(now.getTime() + clusterLimits.invitationDays * DAY_MS);

/** The facts that an invitation is checked against, read while the team is locked. */
export interface InvitationContext {
  readonly now: Date;
  /** Number of the team's open invitations. */
  readonly waiting: number;
  /** The mails of the team's invitations within the last hour. */
  readonly mails: readonly { readonly email: string; readonly at: Date }[];
}

/** `renew` keeps the invitation and its link. `replace` creates a new one, because the old link is used up. */
export type InvitationDecision = { readonly kind: 'create' | 'renew' | 'replace' };

/**
 * Decides whether to create, renew or replace an invitation.
 *
 * @param present the team's invitation to that address in any state, or null
 * @param isMember whether a member has the address
 * @throws Problem `already_member`, `quota_exceeded`, `rate_limit_exceeded`
 */
export function decideInvitation(
  present: Dated | null,
  isMember: boolean,
  email: string,
  context: InvitationContext,
): InvitationDecision {
  if (isMember) {
    throw new Problem(
      'already_member',
      'A member of the team already has this address. Change the role of the member instead.',
    );
  }
  const standing = present && standingOf(present, context.now);
  checkInvitations(standing, email, context);
  if (standing === null) return { kind: 'create' };
  return { kind: standing === 'waiting' || standing === 'expired' ? 'renew' : 'replace' };
}

/**
 * Checks that an invitation can be renewed.
 *
 * @throws Problem `not_found` for an accepted or revoked one, `quota_exceeded`, `rate_limit_exceeded`
 */
export function checkRenewal(present: Dated | null, email: string, context: InvitationContext): void {
  const standing = present && standingOf(present, context.now);
  if (standing !== 'waiting' && standing !== 'expired') throw notFound();
  checkInvitations(standing, email, context);
}

function checkInvitations(
  standing: InvitationStanding | null,
  email: string,
  { waiting, mails, now }: InvitationContext,
): void {
  const { invitationsPerTeam } = clusterLimits;
  if (standing !== 'waiting' && waiting >= invitationsPerTeam) {
    throw new Problem(
      'quota_exceeded',
      `The team has ${waiting} open invitations; the limit is ${invitationsPerTeam}. Revoke some first.`,
    );
  }
  checkMails(
    mails.filter((mail) => mail.email === email),
    clusterLimits.invitationMailsPerAddressPerHour,
    now,
  );
  checkMails(mails, clusterLimits.invitationMailsPerTeamPerHour, now);
}

/** Limits mails, so that a team cannot be used to flood someone's inbox. */
function checkMails(mails: InvitationContext['mails'], max: number, now: Date): void {
  if (mails.length < max) return;
  const oldest = Math.min(...mails.map(({ at }) => at.getTime()));
  const waitMs = Math.max(1_000, oldest + MAIL_WINDOW_MS - now.getTime());
  throw new Problem(
    'rate_limit_exceeded',
    'Too many invitation mails within an hour. Try again after the time in Retry-After.',
    {
      retryAfterSeconds: Math.ceil(waitMs / 1_000),
    },
  );
}

export type Acceptance = { readonly kind: 'unchanged' } | { readonly kind: 'accept'; readonly role: Role };

/**
 * Decides what the acceptance by the owner of the address changes. While they are a member, a repeated acceptance
 * changes nothing. An invitation never lowers a role.
 *
 * @param present their current role in the team, or null
 * @throws Problem `not_found`, `invitation_expired`
 */
export function decideAcceptance(
  invitation: Dated & Pick<InvitationRecord, 'role'>,
  present: Role | null,
  now: Date,
): Acceptance {
  switch (standingOf(invitation, now)) {
    case 'revoked':
      throw notFound();
    case 'accepted':
      if (present === null) throw notFound();
      return { kind: 'unchanged' };
    case 'expired':
      throw new Problem(
        'invitation_expired',
        'The invitation has expired. Ask an administrator of the team to renew it.',
      );
    case 'waiting':
      return { kind: 'accept', role: present === 'admin' ? 'admin' : invitation.role };
  }
}

/** @throws Problem `validation_failed` when the body names a different team than the path */
export function checkInvitedTeam(named: number | undefined, team: number): void {
  if (named === undefined || named === team) return;
  throw invalidField('validation_failed', '/team', 'must be the number of the team in the path. Omit it');
}
