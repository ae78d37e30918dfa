import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { strictParserFor } from '../../parser-for.js';
import { closed } from '../../schema-objects.js';
import { textRules } from '../../text-rules.js';
import { clusterBodyLimits } from '../limits.js';
import { filled } from '../schema-parts.js';
import { deviceCodeGrant } from './device-sign-in.js';

/** Codes for OAuth clients (RFC 6749 sections 4.1.2.1 and 5.2, RFC 8693 section 2.2.2, RFC 8628 section 3.5). */
export const tokenErrors = [
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'temporarily_unavailable',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
] as const;
export type TokenError = (typeof tokenErrors)[number];

export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const tokenGrants = ['authorization_code', deviceCodeGrant, tokenExchangeGrant] as const;
export type TokenGrant = (typeof tokenGrants)[number];

/** Types of tokens that are exchanged (RFC 8693 section 3). */
export const subjectTokenTypes = [
  'urn:ietf:params:oauth:token-type:jwt',
  'urn:ietf:params:oauth:token-type:id_token',
] as const;
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

const short = { type: 'string', minLength: 1, maxLength: 256 } as const;

/** Unknown parameters are ignored (RFC 6749 section 3.2). Those that a grant needs are checked with it. */
export const tokenPostSchema = {
  type: 'object',
  required: ['grant_type'],
  properties: {
    grant_type: { ...short, description: `One of ${tokenGrants.map((grant) => `\`${grant}\``).join(', ')}.` },
    client_id: { ...short, description: 'With a code: `corral-cli`.' },
    code: { ...short, description: 'With `authorization_code`: the code, valid once and for 60 s.' },
    redirect_uri: { ...short, description: 'With `authorization_code`: as in the request for the code.' },
    code_verifier: {
      type: 'string',
      minLength: 43,
      maxLength: 128,
      pattern: textRules.codeVerifier.pattern,
      description: 'With `authorization_code`: the text whose SHA-256 was `code_challenge`.',
    },
    device_code: { ...short, description: 'With `device_code`: as in the answer of `/auth/device/`.' },
    audience: { ...short, description: 'Of an exchange: `{team}/{service account}`, such as `acme/ci`.' },
    subject_token: {
      type: 'string',
      minLength: 1,
      maxLength: clusterBodyLimits.bytes,
      description: 'Of an exchange: the token of the trusted issuer.',
    },
    subject_token_type: {
      ...short,
      description: `Of an exchange: ${subjectTokenTypes.map((type) => `\`${type}\``).join(' or ')}.`,
    },
    requested_token_type: { ...short, description: `Of an exchange: \`${accessTokenType}\`, or absent.` },
    resource: { ...short, description: 'Not supported.' },
    scope: { ...short, description: 'Not supported: a token has the rights of its service account.' },
    actor_token: { ...short, description: 'Not supported.' },
  },
} as const satisfies JSONSchema;

export type TokenPost = FromSchema<typeof tokenPostSchema>;
export const parseTokenPost = strictParserFor<TokenPost>(tokenPostSchema);

export const issuedTokenSchema = closed(['access_token', 'token_type', 'expires_in'], {
  access_token: { ...filled, description: 'Shown only once, and not stored.' },
  issued_token_type: { enum: [accessTokenType], description: 'Of an exchange (RFC 8693).' },
  token_type: {
    enum: ['Bearer', 'Cookie'],
    description:
      '`Bearer`: the token of a service account. `Cookie`: the value of the cookie `sessionid`, of a session of its own.',
  },
  expires_in: { type: 'integer', minimum: 1, description: 'Seconds until it ends, whatever its use.' },
});
export type IssuedTokenBody = FromSchema<typeof issuedTokenSchema>;
