import type { MemberRemovalBody, TeamBody, TeamMemberBody } from '@corral/contracts';
import { contentTagOf } from '../changes/entity-tag.js';
import { invitationBody } from '../invitations/view.js';
import type { MemberRecord, Removal, TeamRecord } from './store.js';

export interface TeamView {
  readonly isAdmin: boolean;
  readonly urlOf: DashboardUrlOf;
}

/** The page where people manage a team. */
export type DashboardUrlOf = (team: { readonly slug: string; readonly number: number }) => string;

export interface DashboardConfig {
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Base URL of the console, without a trailing slash. Null without a console. */
  readonly consoleUrl: () => string | null;
}

/** Without a console the link leads to the team in this API rather than nowhere. */
export const dashboardUrlOf =
  ({ consoleUrl, publicUrl }: DashboardConfig): DashboardUrlOf =>
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
  joined_at: person.joinedAt.toISOString(),
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
