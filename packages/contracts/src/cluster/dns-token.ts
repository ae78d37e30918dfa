import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { writableTypes } from '../dns/limits.js';
import { strictParserFor } from '../parser-for.js';
import { timeCharacters, timePattern } from '../time.js';
import { clusterLimits } from './limits.js';
import { exactly, filled, time, uuid } from './schema-parts.js';

/** What a token is for; there may be more one day. */
export const dnsScopes = ['dns'] as const;

export const dnsTokenStates = ['active', 'expired', 'revoked'] as const;
export type DnsTokenState = (typeof dnsTokenStates)[number];

export const dnsTokenPostSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      maxLength: clusterLimits.dnsTokenNameCharacters,
      pattern: '\\S',
      description: 'What it is for, as lists and the audit log show it.',
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
        'The token sees and writes only this name, relative to the zone, and names below it. Null: all of the team’s.',
    },
    withinTypes: {
      type: 'array',
      items: { enum: writableTypes },
      maxItems: writableTypes.length,
      uniqueItems: true,
      default: [],
      description: 'The token writes only these record types. Empty: every type that the DNS API writes.',
    },
    expiresAt: {
      type: ['string', 'null'],
      maxLength: timeCharacters,
      pattern: timePattern,
      default: null,
      description: 'When it ends (RFC 3339). Null: when it is revoked.',
    },
  },
} as const satisfies JSONSchema;

/** Who made a token over this API. */
const creatorSchema = {
  anyOf: [exactly({ id: { type: 'integer' }, email: filled, displayName: filled }), { type: 'null' }],
  description: 'Null: nobody’s own. An operator of the service made it, or it was handed over to the team.',
} as const;

const optionalTime = { type: ['string', 'null'], pattern: time.pattern } as const;

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
  lastUsedAt: { ...optionalTime, description: 'To about 10 s.' },
  revokedAt: optionalTime,
} as const;

export const dnsTokenSchema = exactly(shown);
export const createdDnsTokenSchema = exactly({
  ...shown,
  token: {
    type: ['string', 'null'],
    pattern: '^[A-Za-z0-9]{64}$',
    description:
      'The token itself: it is here, this once, and kept nowhere. Null when the request was sent again with its ' +
      '`Idempotency-Key`: revoke the token if the first answer is lost, and create another.',
  },
});

/** As a client asks for it, defaults filled in. */
export interface DnsTokenWish {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly withinName: string | null;
  readonly withinTypes: readonly string[];
  readonly expiresAt: string | null;
}
export type DnsTokenBody = FromSchema<typeof dnsTokenSchema>;

export const parseDnsTokenPost = strictParserFor<DnsTokenWish>(dnsTokenPostSchema);
