import type {
  InvitationBody,
  MemberRemovalBody,
  ReceivedInvitationBody,
  SentInvitationBody,
  TeamBody,
  TeamMemberBody,
} from '@corral/contracts';
import { contentTagOf } from './entity-tag.js';
import type { InvitationRecord, MemberRecord, ReceivedInvitation, TeamIdentity, TeamRecord } from './team-record.js';
import type { Removal } from './teams.js';

export interface TeamView {
  readonly isAdmin: boolean;
  readonly urlOf: DashboardUrlOf;
}

/** Where people look after a team. */
export type DashboardUrlOf = (team: Pick<TeamIdentity, 'slug' | 'number'>) => string;

export interface DashboardOptions {
  /** Base addresses without a slash at their ends. Null: there is no console. */
  readonly consoleUrl: string | null;
  readonly publicUrl: () => string;
}

/** Without a console it is where this API tells of the team: a link that leads nowhere would be worse. */
export const dashboardUrlOf =
  ({ consoleUrl, publicUrl }: DashboardOptions): DashboardUrlOf =>
  ({ slug, number }) =>
    consoleUrl === null ? `${publicUrl()}/teams/api/teams/${number}/` : `${consoleUrl}/teams/${slug}/`;

/** Whom the team has invited is for its administrators to know. */
export function teamBody(team: TeamRecord, { isAdmin, urlOf }: TeamView): TeamBody {
  return {
    ...{ id: team.number, name: team.name, slug: team.slug },
    members: team.members.map(memberBody),
    invitations: isAdmin ? team.invitations.map((invitation) => invitationBody(team, invitation)) : [],
    dashboard_url: urlOf(team),
    is_admin: isAdmin,
    subscription: team.subscription,
    has_active_subscription: team.hasActiveSubscription,
  };
}

export const memberBody = ({ number, userNumber, role, ...person }: MemberRecord): TeamMemberBody => ({
  ...{ id: number, user_id: userNumber, role },
  ...{ first_name: person.firstName, last_name: person.lastName, display_name: person.displayName },
});

/** The entity tag of answers about the team, as this viewer gets them: what can be changed is its name. */
export const teamTagOf = (team: TeamRecord, view: TeamView): string =>
  contentTagOf(`team-${team.number}`, { name: team.name }, teamBody(team, view));

/** The entity tag of answers about the member: what can be changed is the role. */
export const memberTagOf = (member: MemberRecord): string =>
  contentTagOf(`member-${member.number}`, { role: member.role }, memberBody(member));

export const memberRemovalBody = ({ revoked, handedOver }: Removal): MemberRemovalBody => ({
  dns_tokens: { revoked: [...revoked], handed_over: [...handedOver] },
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
