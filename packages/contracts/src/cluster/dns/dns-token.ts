import type { FromSchema } from 'json-schema-to-ts';
import { writableTypes } from '../../dns/names.js';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { clusterLimits } from '../limits.js';
import { filled, givenTime, optionalTime, person, time, uuid } from '../schema-parts.js';

/** Scopes of a token. More may follow. */
export const dnsScopes = ['dns'] as const;

export const dnsTokenStates = ['active', 'expired', 'revoked'] as const;
export type DnsTokenState = (typeof dnsTokenStates)[number];

export const dnsTokenPostSchema = closed(['name'], {
  name: {
    type: 'string',
    maxLength: clusterLimits.dnsTokenNameCharacters,
    pattern: textRules.shownName.pattern,
    description: 'Purpose of the token, shown in lists and the audit log.',
  },
  scopes: {
    type: 'array',
    items: { enum: dnsScopes },
    minItems: 1,
    maxItems: dnsScopes.length,
    uniqueItems: true,
    default: [...dnsScopes],
  },
  withinName: {
    type: ['string', 'null'],
    maxLength: 253,
    default: null,
    description:
      'The token can read and write only this name, relative to the zone, and names below it. Null: all names of the team.',
  },
  withinTypes: {
    type: 'array',
    items: { enum: writableTypes },
    maxItems: writableTypes.length,
    uniqueItems: true,
    default: [],
    description: 'The token can write only these record types. Empty: all types that the DNS API can write.',
  },
  expiresAt: {
    ...givenTime,
    type: ['string', 'null'],
    default: null,
    description: 'When the token expires (RFC 3339). Null: valid until revoked.',
  },
});

/** The user who created a token through this API. */
const creatorSchema = {
  anyOf: [person, { type: 'null' }],
  description: 'Null if an operator of the service created the token, or if it was handed over to the team.',
} as const;

const shown = {
  id: uuid,
  name: filled,
  state: { enum: dnsTokenStates },
  scopes: { type: 'array', items: filled },
  withinName: { type: ['string', 'null'] },
  withinTypes: { type: 'array', items: filled },
  createdAt: time,
  createdBy: creatorSchema,
  expiresAt: optionalTime,
  lastUsedAt: { ...optionalTime, description: 'Accurate to about 10 s.' },
  revokedAt: optionalTime,
} as const;

export const dnsTokenSchema = exactly(shown);
export const createdDnsTokenSchema = exactly({
  ...shown,
  token: {
    type: ['string', 'null'],
    pattern: '^[A-Za-z0-9]{64}$',
    description:
      'The token itself, shown only once and not stored. Null when the request was repeated with its ' +
      '`Idempotency-Key`: if the first answer was lost, revoke the token and create another.',
  },
});

/** The DNS token of a signed-in person or of a service account, for the DNS API. */
export const dnsSessionSchema = exactly({
  endpoint: { ...filled, description: 'Base URL of the DNS API.' },
  zone: { ...filled, description: 'Name of the zone in which the team has its name.' },
  token: {
    type: 'string',
    pattern: '^[A-Za-z0-9]{64}$',
    description:
      'Covers all names of the team; that of a viewer only reads. Ends with the session, with the membership in the team, ' +
      'and when a viewer gets another role or the reverse. That of a service account covers what the account is narrowed to, ' +
      'writes if the account may `change` and `delete`, and ends with the token that asked for it and with each change of the account.',
  },
  expiresAt: { ...time, description: 'At most 15 minutes from now. Request another one before then.' },
});
export type DnsSessionBody = FromSchema<typeof dnsSessionSchema>;

/** The requested token, with defaults. */
export interface DnsTokenWish {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly withinName: string | null;
  readonly withinTypes: readonly string[];
  readonly expiresAt: string | null;
}
export type DnsTokenBody = FromSchema<typeof dnsTokenSchema>;

export const parseDnsTokenPost = strictParserFor<DnsTokenWish>(dnsTokenPostSchema);
