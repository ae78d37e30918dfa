import type { FormerMemberDnsToken } from '@corral/auth';
import type { TeamNames } from '@corral/cluster-data';
import type { Role, Subscription, UserId } from '@corral/contracts';

/** What happened to the DNS tokens of a removed member. */
export interface Removal {
  readonly revoked: readonly FormerMemberDnsToken[];
  readonly handedOver: readonly FormerMemberDnsToken[];
}

/** Clients see the numbers, never the ids. */
export interface MemberRecord {
  readonly number: number;
  readonly userId: UserId;
  readonly userNumber: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** The chosen name, else first and last name, else the e-mail address. */
  readonly displayName: string;
  readonly role: Role;
}

export interface InvitationRecord {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly role: Role;
  /** E-mail address of the user who last sent the invitation. */
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly acceptedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly mailSentAt: Date | null;
}

/** An invitation with its team. */
export interface ReceivedInvitation extends InvitationRecord {
  readonly team: TeamNames;
}

export interface TeamRecord extends TeamNames {
  /** Longest membership first. */
  readonly members: readonly MemberRecord[];
  /** Open invitations, oldest first. */
  readonly invitations: readonly InvitationRecord[];
  /** `{}` without a subscription. */
  readonly subscription: Subscription | Record<string, never>;
  readonly hasActiveSubscription: boolean;
}
