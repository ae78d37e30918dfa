import { clusterLimits, type Role, roleCovers } from '@corral/contracts';
import { invalidField, notFound, Problem } from '../problem.js';
import type { InvitationRecord } from './store.js';

export type InvitationState = 'open' | 'expired' | 'accepted' | 'revoked';
type Dated = Pick<InvitationRecord, 'expiresAt' | 'acceptedAt' | 'revokedAt'>;

export function stateOf({ expiresAt, acceptedAt, revokedAt }: Dated, now: Date): InvitationState {
  if (revokedAt !== null) return 'revoked';
  if (acceptedAt !== null) return 'accepted';
  return expiresAt > now ? 'open' : 'expired';
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
  readonly open: number;
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
  const state = present && stateOf(present, context.now);
  checkInvitations(state, email, context);
  if (state === null) return { kind: 'create' };
  return { kind: state === 'open' || state === 'expired' ? 'renew' : 'replace' };
}

/**
 * Checks that an invitation can be renewed.
 *
 * @throws Problem `not_found` for an accepted or revoked one, `quota_exceeded`, `rate_limit_exceeded`
 */
export function checkRenewal(present: Dated | null, email: string, context: InvitationContext): void {
  const state = present && stateOf(present, context.now);
  if (state !== 'open' && state !== 'expired') throw notFound();
  checkInvitations(state, email, context);
}

function checkInvitations(state: InvitationState | null, email: string, { open, mails, now }: InvitationContext): void {
  const { invitationsPerTeam } = clusterLimits;
  if (state !== 'open' && open >= invitationsPerTeam) {
    throw new Problem(
      'quota_exceeded',
      `The team has ${open} open invitations; the limit is ${invitationsPerTeam}. Revoke some first.`,
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

export type AcceptanceDecision = { readonly kind: 'unchanged' } | { readonly kind: 'accept'; readonly role: Role };

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
): AcceptanceDecision {
  switch (stateOf(invitation, now)) {
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
    case 'open':
      return {
        kind: 'accept',
        role: present !== null && roleCovers(present, invitation.role) ? present : invitation.role,
      };
  }
}

/** @throws Problem `validation_failed` when the body names a different team than the path */
export function checkInvitedTeam(named: number | undefined, team: number): void {
  if (named === undefined || named === team) return;
  throw invalidField('validation_failed', '/team', 'must be the number of the team in the path. Omit it');
}
