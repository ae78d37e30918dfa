import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { roleSchema } from '../clusters/requests.js';
import { clusterLimits } from '../limits.js';
import type { Role } from '../roles.js';
import { compared, email, filled, number, optionalTime, text, time, uuid } from '../schema-parts.js';
import { subscriptionSchema } from './subscription.js';

const shownInvitation = {
  id: uuid,
  team: { ...number, description: 'The team’s number.' },
  email,
  role: roleSchema,
  invited_by: { ...email, description: 'E-mail address of the last inviter.' },
  is_accepted: { type: 'boolean' },
} as const;

export const invitationSchema = exactly(shownInvitation);

/** An invitation as administrators see it. */
export const sentInvitationSchema = exactly({
  ...shownInvitation,
  created_at: time,
  expires_at: {
    ...time,
    description: 'When the invitation expires. It cannot be accepted after that until it is renewed.',
  },
  mail_sent_at: { ...optionalTime, description: 'When the mail server accepted the mail; null until then.' },
});

/** An invitation as the invited person sees it. */
export const receivedInvitationSchema = exactly({
  ...shownInvitation,
  team_slug: filled,
  team_name: filled,
  expires_at: time,
});

export const teamMemberSchema = exactly({
  id: { ...number, description: 'Number of the membership, used in paths.' },
  user_id: number,
  first_name: text,
  last_name: text,
  display_name: filled,
  role: roleSchema,
  joined_at: { ...time, description: 'When the person became a member.' },
});

/** What happens to a leaving member's DNS tokens; the first is the default. */
export const dnsTokenHandlings = ['revoke', 'hand_over'] as const;
export type DnsTokenHandling = (typeof dnsTokenHandlings)[number];

const leftTokens = { type: 'array', items: exactly({ id: uuid, name: filled }) } as const;

const leftTokensSchema = exactly({
  revoked: { ...leftTokens, description: 'Tokens created by the member that end.' },
  handed_over: { ...leftTokens, description: 'Tokens that belong to the team from then on.' },
});

export const memberRemovalSchema = exactly({ dns_tokens: leftTokensSchema });

export const memberDryRunSchema = exactly({
  dryRun: { const: true },
  resource: teamMemberSchema,
  dns_tokens: leftTokensSchema,
});

export const teamSchema = exactly({
  id: number,
  name: filled,
  slug: filled,
  members: { type: 'array', items: teamMemberSchema, description: 'Longest membership first.' },
  invitations: {
    type: 'array',
    items: invitationSchema,
    description: 'Open invitations, for administrators; empty for other members.',
  },
  dashboard_url: filled,
  is_admin: { type: 'boolean', description: 'Whether the caller is an administrator of the team.' },
  subscription: {
    anyOf: [subscriptionSchema, { ...exactly({}), maxProperties: 0 }],
    description: 'Last state reported by the billing system; `{}` without a subscription.',
  },
  has_active_subscription: { type: 'boolean' },
});

const readOnly = { ...compared, readOnly: true, description: 'Read-only: omit it, or send it as it was read.' };

export const teamPutSchema = closed(['name'], {
  name: { type: 'string', maxLength: clusterLimits.teamNameCharacters, pattern: textRules.shownName.pattern },
  slug: {
    type: 'string',
    maxLength: clusterLimits.teamNameCharacters,
    description: 'Fixed: part of the team’s names in the zone.',
  },
  id: readOnly,
  members: readOnly,
  invitations: readOnly,
  dashboard_url: readOnly,
  is_admin: readOnly,
  subscription: readOnly,
  has_active_subscription: readOnly,
});

/** Stricter than `emailSchema`. */
const mailAddressSchema = {
  type: 'string',
  format: 'email',
  maxLength: 254,
  pattern: textRules.mailAddress.pattern,
} as const satisfies JSONSchema;

export const invitationPostSchema = closed(['email'], {
  team: { ...number, description: 'The team’s number. Must be the team of the path, which is also the default.' },
  email: mailAddressSchema,
  role: { ...roleSchema, default: 'member' },
  is_accepted: { enum: [false], description: 'Only the invited person can accept.' },
});

export const memberPutSchema = closed(['role'], {
  role: roleSchema,
  id: readOnly,
  user_id: readOnly,
  first_name: readOnly,
  last_name: readOnly,
  display_name: readOnly,
  joined_at: readOnly,
});

export type MemberRemovalBody = FromSchema<typeof memberRemovalSchema>;
export type TeamBody = FromSchema<typeof teamSchema>;
export type TeamMemberBody = FromSchema<typeof teamMemberSchema>;
export type InvitationBody = FromSchema<typeof invitationSchema>;
export type SentInvitationBody = FromSchema<typeof sentInvitationSchema>;
export type ReceivedInvitationBody = FromSchema<typeof receivedInvitationSchema>;

export interface InvitationWish {
  readonly team?: number;
  readonly email: string;
  readonly role: Role;
}
/** Other members are read-only and must match what was read. */
export type TeamPut = { readonly name: string; readonly slug?: string } & Readonly<Record<string, unknown>>;
export type MemberPut = { readonly role: Role } & Readonly<Record<string, unknown>>;

const slugForm = new RegExp(textRules.name.pattern);

/**
 * Whether a display name reads as a slug that is not the team's own. Only its form decides, so that the answer does not tell which teams
 * exist, and no team gets a slug later that another one is already called.
 */
export function readsAsForeignSlug(name: string, ownSlug: string): boolean {
  const read = name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim();
  return read !== ownSlug && slugForm.test(read);
}

export const parseTeamPut = strictParserFor<TeamPut>(teamPutSchema);
export const parseInvitationPost = strictParserFor<InvitationWish>(invitationPostSchema);
export const parseMemberPut = strictParserFor<MemberPut>(memberPutSchema);
