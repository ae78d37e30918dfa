import type { TeamNames } from '@corral/cluster-data';
import type {
  InvitationBody,
  MemberRemovalBody,
  ReceivedInvitationBody,
  SentInvitationBody,
  TeamBody,
  TeamMemberBody,
} from '@corral/contracts';
import { contentTagOf } from '../changes/entity-tag.js';
import type { InvitationRecord, MemberRecord, ReceivedInvitation, Removal, TeamRecord } from './record.js';

export interface TeamView {
  readonly isAdmin: boolean;
  readonly urlOf: DashboardUrlOf;
}

/** The page where people manage a team. */
export type DashboardUrlOf = (team: Pick<TeamNames, 'slug' | 'number'>) => string;

export interface DashboardOptions {
  /** Base URL without a trailing slash. Null without a console. */
  readonly consoleUrl: () => string | null;
  readonly publicUrl: () => string;
}

/** Without a console the link leads to the team in this API rather than nowhere. */
export const dashboardUrlOf =
  ({ consoleUrl, publicUrl }: DashboardOptions): DashboardUrlOf =>
  ({ slug, number }) => {
    const console = consoleUrl();
    return console === null ? `${publicUrl()}/teams/api/teams/${number}/` : `${console}/teams/${slug}/`;
  };

/** A team as clients see it. Only administrators see its invitations. */
export function teamBody(team: TeamRecord, { isAdmin, urlOf }: TeamView): TeamBody {
  return {
    id: team.number,
    name: team.name,
    slug: team.slug,
    members: team.members.map(memberBody),
    invitations: isAdmin ? team.invitations.map((invitation) => invitationBody(team, invitation)) : [],
    dashboard_url: urlOf(team),
    is_admin: isAdmin,
    subscription: team.subscription,
    has_active_subscription: team.hasActiveSubscription,
  };
}

export const memberBody = ({ number, userNumber, role, ...person }: MemberRecord): TeamMemberBody => ({
  id: number,
  user_id: userNumber,
  role,
  first_name: person.firstName,
  last_name: person.lastName,
  display_name: person.displayName,
});

/** The entity tag of the team as this viewer sees it. Only the name can be changed. */
export const teamTagOf = (team: TeamRecord, view: TeamView): string =>
  contentTagOf(`team-${team.number}`, { name: team.name }, teamBody(team, view));

/** The entity tag of the member. Only the role can be changed. */
export const memberTagOf = (member: MemberRecord): string =>
  contentTagOf(`member-${member.number}`, { role: member.role }, memberBody(member));

export const memberRemovalBody = ({ revoked, handedOver }: Removal): MemberRemovalBody => ({
  dns_tokens: { revoked: [...revoked], handed_over: [...handedOver] },
});

type Team = Pick<TeamNames, 'number'>;

export const invitationBody = ({ number }: Team, invitation: InvitationRecord): InvitationBody => ({
  id: invitation.id,
  team: number,
  email: invitation.email,
  role: invitation.role,
  invited_by: invitation.invitedBy,
  is_accepted: invitation.acceptedAt !== null,
});

export const sentInvitationBody = (team: Team, invitation: InvitationRecord): SentInvitationBody => ({
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
