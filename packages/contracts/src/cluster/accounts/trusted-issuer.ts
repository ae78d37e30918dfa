import type { FromSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed, exactly } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { asRead, clusterNameSchema, specOf } from '../clusters/requests.js';
import { clusterLimits } from '../limits.js';
import { filled, time, uuid } from '../schema-parts.js';
import { apiVersion } from '../states.js';

const condition = { type: 'string', minLength: 1, maxLength: clusterLimits.claimValueCharacters } as const;

const specSchema = closed(['issuer', 'audience', 'claims', 'serviceAccount'], {
  issuer: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.issuerCharacters,
    pattern: textRules.issuerUrl.pattern,
    description: 'URL of the issuer, exactly as in the claim `iss`. Its discovery document names its keys.',
  },
  audience: {
    type: 'string',
    minLength: 1,
    maxLength: clusterLimits.issuerCharacters,
    description: 'What the claim `aud` must be or contain.',
  },
  claims: {
    type: 'object',
    required: ['sub'],
    maxProperties: clusterLimits.claimConditions,
    propertyNames: {
      type: 'string',
      maxLength: clusterLimits.claimNameCharacters,
      pattern: textRules.claimName.pattern,
    },
    properties: { sub: condition },
    additionalProperties: condition,
    description:
      'Conditions on claims, which must all be met: the exact value, or a pattern with at most ' +
      `${clusterLimits.claimWildcards} \`*\`. At the end, \`*\` stands for any characters; elsewhere for any but \`/\` and ` +
      '`:`. A condition on `sub` is required.',
  },
  serviceAccount: { ...clusterNameSchema, description: 'Name of the service account that a match becomes.' },
});

export const trustedIssuerPutSchema = specOf(specSchema, asRead('TrustedIssuer', 'name'));

export const trustedIssuerSchema = exactly({
  apiVersion: { const: apiVersion },
  kind: { const: 'TrustedIssuer' },
  metadata: exactly({
    name: { ...filled, description: 'As in the path.' },
    id: uuid,
    team: filled,
    createdAt: time,
    updatedAt: time,
  }),
  spec: exactly({
    issuer: filled,
    audience: filled,
    claims: { type: 'object', additionalProperties: filled },
    serviceAccount: filled,
  }),
});

export const trustedIssuerListSchema = exactly({
  items: { type: 'array', maxItems: clusterLimits.trustedIssuersPerTeam, items: trustedIssuerSchema },
});

/** Conditions on claims by name, as patterns. */
export type ClaimConditions = Readonly<Record<string, string>>;

export interface TrustedIssuerSpec {
  readonly issuer: string;
  readonly audience: string;
  readonly claims: ClaimConditions;
  readonly serviceAccount: string;
}
export type TrustedIssuerBody = FromSchema<typeof trustedIssuerSchema>;

export const parseTrustedIssuerPut = strictParserFor<{
  readonly spec: TrustedIssuerSpec;
  readonly metadata?: { readonly name?: unknown };
}>(trustedIssuerPutSchema);
