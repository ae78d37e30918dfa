import { adminRoute, type ClusterRoute, paging, route } from '../route.js';
import { billingEventSchema } from './subscription.js';
import { dnsTokenHandlings, invitationPostSchema, memberPutSchema, teamPutSchema } from './team.js';

const invitations = '/a/{team_slug}/team/api/invitations/';
const members = '/a/{team_slug}/team/api/members/';
const oneTeam = '/teams/api/teams/{team_id}/';

/** Routes of a team, its members, invitations and subscription. */
export const teamRoutes = [
  {
    ...route('listTeamDetails', 'get', '/teams/api/teams/', 'session'),
    summary: 'List the caller’s teams with members, invitations and subscription, by slug',
    answers: { 200: 'teamDetailList' },
    query: paging,
  },
  {
    ...route('getTeam', 'get', oneTeam, 'viewer'),
    summary: 'Show one team, by its number',
    people: true,
    answers: { 200: 'team', 304: null },
  },
  {
    ...adminRoute('putTeam', 'put', oneTeam),
    summary: 'Rename a team',
    answers: { 200: 'team' },
    problems: ['immutable_field', 'precondition_failed'],
    body: teamPutSchema,
    conditional: true,
  },
  {
    ...adminRoute('listInvitations', 'get', invitations),
    summary: 'List invitations that were neither accepted nor revoked, including expired ones, newest first',
    answers: { 200: 'sentInvitationList' },
    query: paging,
  },
  {
    ...adminRoute('createInvitation', 'post', invitations),
    summary: 'Invite a person by mail; an existing invitation to the address is renewed',
    answers: { 201: 'invitation' },
    problems: ['already_member', 'quota_exceeded'],
    body: invitationPostSchema,
    idempotent: true,
  },
  {
    ...adminRoute('renewInvitation', 'post', `${invitations}{id}/renew/`),
    summary: 'Renew an invitation for another 14 days, and send its mail again',
    answers: { 200: 'invitation' },
    idempotent: true,
  },
  {
    ...adminRoute('revokeInvitation', 'delete', `${invitations}{id}/`),
    summary: 'Revoke an invitation',
    endsAccess: true,
    answers: { 204: null },
  },
  {
    ...route('listMembers', 'get', members, 'viewer'),
    summary: 'List the members of the team, longest membership first',
    people: true,
    answers: { 200: 'teamMemberList' },
    query: paging,
  },
  {
    ...route('getMember', 'get', `${members}{id}/`, 'viewer'),
    summary: 'Show one member',
    people: true,
    answers: { 200: 'teamMember', 304: null },
  },
  {
    ...adminRoute('putMember', 'put', `${members}{id}/`),
    summary: 'Change the role of a member. The DNS tokens of a member who becomes a viewer end',
    answers: { 200: 'teamMember' },
    problems: ['last_admin', 'immutable_field', 'precondition_failed'],
    body: memberPutSchema,
    query: [
      {
        name: 'dns_tokens',
        type: 'string',
        description:
          'What happens to the DNS tokens of a member who becomes a viewer: revoke them, or hand them over to the team. Default `revoke`.',
        values: dnsTokenHandlings,
      },
      {
        name: 'dryRun',
        type: 'boolean',
        description:
          '`true`: shows the member with the other role, and which DNS tokens that ends, without changing anything.',
      },
    ],
    conditional: true,
  },
  {
    ...route('deleteMember', 'delete', `${members}{id}/`, 'viewer'),
    summary: 'Remove a member with their own DNS tokens; members may remove themselves',
    endsAccess: true,
    people: true,
    partialFor: ['viewer', 'member'],
    answers: { 200: 'memberRemoval' },
    problems: ['permission_denied', 'last_admin', 'precondition_failed'],
    query: [
      {
        name: 'dns_tokens',
        type: 'string',
        description:
          'What happens to the DNS tokens that the member created: revoke them, or hand them over to the team (administrators only). Default `revoke`.',
        values: dnsTokenHandlings,
      },
    ],
    conditional: true,
  },
  {
    ...route('listReceivedInvitations', 'get', '/invitations/', 'session'),
    summary: 'List invitations to the caller’s e-mail address, newest first',
    answers: { 200: 'receivedInvitationList' },
    query: paging,
  },
  {
    ...route('getReceivedInvitation', 'get', '/invitations/{id}/', 'session'),
    summary: 'Show one invitation to the caller’s e-mail address',
    answers: { 200: 'receivedInvitation' },
    problems: ['not_found'],
  },
  {
    ...route('acceptInvitation', 'post', '/invitations/{id}/accept/', 'session'),
    summary: 'Accept an invitation and become a member of the team',
    answers: { 200: 'receivedInvitation' },
    problems: ['not_found', 'invitation_expired'],
  },
  {
    ...route('declineInvitation', 'post', '/invitations/{id}/decline/', 'session'),
    summary: 'Decline an invitation, which ends it; declining it again changes nothing',
    answers: { 204: null },
    problems: ['not_found'],
  },
  {
    ...route('takeBillingEvent', 'post', '/billing/webhook/', 'public'),
    summary: 'Receive a subscription update, signed by the billing system; served only where configured',
    answers: { 200: 'billingOutcome' },
    problems: ['invalid_signature', 'not_found'],
    body: billingEventSchema,
  },
] as const satisfies readonly ClusterRoute[];
