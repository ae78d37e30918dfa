import type {
  InvitationBody,
  ReceivedInvitationBody,
  SentInvitationBody,
  TeamBody,
  TeamMemberBody,
} from '@corral/contracts';
import type { InvitationRecord, MemberRecord, ReceivedInvitation, TeamIdentity, TeamRecord } from './team-record.js';

export interface TeamView {
  readonly isAdmin: boolean;
  /** Base address of the console, without a slash at its end. */
  readonly consoleUrl: string;
}

/** Whom the team has invited is for its administrators to know. */
export function teamBody(team: TeamRecord, { isAdmin, consoleUrl }: TeamView): TeamBody {
  return {
    ...{ id: team.number, name: team.name, slug: team.slug },
    members: team.members.map(memberBody),
    invitations: isAdmin ? team.invitations.map((invitation) => invitationBody(team, invitation)) : [],
    dashboard_url: `${consoleUrl}/teams/${team.slug}/`,
    is_admin: isAdmin,
    subscription: team.subscription,
    has_active_subscription: team.hasActiveSubscription,
  };
}

export const memberBody = ({ number, userNumber, role, ...person }: MemberRecord): TeamMemberBody => ({
  ...{ id: number, user_id: userNumber, role },
  ...{ first_name: person.firstName, last_name: person.lastName, display_name: person.displayName },
});

type Team = Pick<TeamIdentity, 'number'>;

export const invitationBody = ({ number }: Team, invitation: InvitationRecord): InvitationBody => ({
  ...{ id: invitation.id, team: number, email: invitation.email, role: invitation.role },
  ...{ invited_by: invitation.invitedBy, is_accepted: invitation.acceptedAt !== null },
});

export const sentInvitationBody = (team: Team, invitation: InvitationRecord): SentInvitationBody => ({
  ...invitationBody(team, invitation),
  created_at: invitation.createdAt.toISOString(),
  expires_at: invitation.expiresAt.toISOString(),
  mail_sent_at: invitation.mailSentAt?.toISOString() ?? null,
});

export const receivedInvitationBody = ({ team, ...invitation }: ReceivedInvitation): ReceivedInvitationBody => ({
  ...invitationBody(team, invitation),
  ...{ team_slug: team.slug, team_name: team.name },
  expires_at: invitation.expiresAt.toISOString(),
});
