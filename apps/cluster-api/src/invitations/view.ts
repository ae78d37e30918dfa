import type { InvitationBody, ReceivedInvitationBody, SentInvitationBody } from '@corral/contracts';
import type { InvitationRecord, ReceivedInvitation } from './store.js';

/** A team, as paths and answers of the team endpoints name it. */
interface Numbered {
  readonly number: number;
}

export const invitationBody = ({ number }: Numbered, invitation: InvitationRecord): InvitationBody => ({
  id: invitation.id,
  team: number,
  email: invitation.email,
  role: invitation.role,
  invited_by: invitation.invitedBy,
  is_accepted: invitation.acceptedAt !== null,
});

export const sentInvitationBody = (team: Numbered, invitation: InvitationRecord): SentInvitationBody => ({
  ...invitationBody(team, invitation),
  created_at: invitation.createdAt.toISOString(),
  expires_at: invitation.expiresAt.toISOString(),
  mail_sent_at: invitation.mailSentAt?.toISOString() ?? null,
});

export const receivedInvitationBody = ({ team, ...invitation }: ReceivedInvitation): ReceivedInvitationBody => ({
  ...invitationBody(team, invitation),
  team_slug: team.slug,
  team_name: team.name,
  expires_at: invitation.expiresAt.toISOString(),
});
