import type { Role, Subscription } from '@corral/contracts';

/** The numbers are what answers and paths speak of. */
export interface MemberRecord {
  readonly number: number;
  readonly userId: string;
  readonly userNumber: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** As chosen, else by name, else the e-mail address. */
  readonly displayName: string;
  readonly role: Role;
}

export interface InvitationRecord {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly role: Role;
  /** E-mail address of who invited last. */
  readonly invitedBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly acceptedAt: Date | null;
  readonly revokedAt: Date | null;
  readonly mailSentAt: Date | null;
}

export interface TeamIdentity {
  readonly id: string;
  readonly number: number;
  readonly slug: string;
  /** The slug where the team has not been named. */
  readonly name: string;
}

/** An invitation with the team that it leads into. */
export interface ReceivedInvitation extends InvitationRecord {
  readonly team: TeamIdentity;
}

export interface TeamRecord extends TeamIdentity {
  /** Longest first. */
  readonly members: readonly MemberRecord[];
  /** Those that wait for an answer, oldest first. */
  readonly invitations: readonly InvitationRecord[];
  /** `{}` without one. */
  readonly subscription: Subscription | Record<string, never>;
  readonly hasActiveSubscription: boolean;
}
