import { displayNameOf } from '@corral/auth';
import { prismaSelect, type TeamNamesRow, teamColumns, teamNamesOf } from '@corral/cluster-data';
import { asUserId, type Role, type Subscription } from '@corral/contracts';
import type { InvitationRecord, MemberRecord, TeamRecord } from './record.js';

/* Selections of team rows and their mapping to records. */

export const shownOfTeam = prismaSelect(teamColumns.names);

export const shownOfMember = {
  number: true,
  role: true,
  user: { select: { id: true, number: true, email: true, firstName: true, lastName: true, displayName: true } },
} as const;

export const shownOfInvitation = {
  id: true,
  email: true,
  role: true,
  createdAt: true,
  expiresAt: true,
  acceptedAt: true,
  revokedAt: true,
  mailSentAt: true,
  inviter: { select: { email: true } },
} as const;

/** Longest membership first: numbers are assigned in the order in which people join. */
export const longestFirst = { number: 'asc' } as const;

export const isUnanswered = { acceptedAt: null, revokedAt: null } as const;
export const isOpen = (now: Date) => ({ ...isUnanswered, expiresAt: { gt: now } });

/** Selects a team with its members, open invitations and subscription. */
export const wholeTeam = (now: Date) => ({
  ...shownOfTeam,
  memberships: { orderBy: longestFirst, select: shownOfMember },
  invitations: {
    where: isOpen(now),
    orderBy: [{ createdAt: 'asc' as const }, { id: 'asc' as const }],
    select: shownOfInvitation,
  },
  subscription: { select: { body: true, isActive: true } },
});

interface MemberRow {
  readonly number: number;
  readonly role: Role;
  readonly user: {
    readonly id: string;
    readonly number: number;
    readonly email: string;
    readonly firstName: string;
    readonly lastName: string;
    readonly displayName: string;
  };
}

export const memberOf = ({ number, role, user }: MemberRow): MemberRecord => ({
  number,
  role,
  userId: asUserId(user.id),
  userNumber: user.number,
  email: user.email,
  firstName: user.firstName,
  lastName: user.lastName,
  displayName: displayNameOf(user),
});

interface InvitationRow extends Omit<InvitationRecord, 'invitedBy'> {
  readonly inviter: { readonly email: string };
}

export const invitationOf = ({ inviter, ...row }: InvitationRow): InvitationRecord => {
  const { id, email, role, createdAt, expiresAt, acceptedAt, revokedAt, mailSentAt } = row;
  return { id, email, role, invitedBy: inviter.email, createdAt, expiresAt, acceptedAt, revokedAt, mailSentAt };
};

interface TeamRow extends TeamNamesRow {
  readonly memberships: readonly MemberRow[];
  readonly invitations: readonly InvitationRow[];
  readonly subscription: { readonly body: unknown; readonly isActive: boolean } | null;
}

export const wholeTeamOf = (row: TeamRow): TeamRecord => ({
  ...teamNamesOf(row),
  members: row.memberships.map(memberOf),
  invitations: row.invitations.map(invitationOf),
  subscription: (row.subscription?.body ?? {}) as Subscription | Record<string, never>,
  hasActiveSubscription: row.subscription?.isActive ?? false,
});
