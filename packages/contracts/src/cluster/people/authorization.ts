import { strictParserFor } from '../../parser-for.js';
import { closed } from '../../schema-objects.js';
import { clusterLimits } from '../limits.js';
import type { ClusterQueryParameter } from '../route.js';
import { commandLineClient } from './command-line.js';

/* Sign-in of the command line: OAuth 2.0 for native apps (RFC 8252) with PKCE (RFC 7636). */

/** A base64url text of 256 bits, such as an S256 challenge (RFC 7636 section 4.2). */
export const codeChallengePattern = '^[A-Za-z0-9_-]{43}$';
/** A port of the machine on which the browser runs, by address: a name could resolve to another machine. */
export const redirectUriPattern = '^http://(127\\.0\\.0\\.1|\\[::1\\]):[1-9][0-9]{0,4}/[A-Za-z0-9._~/-]*$';
export const statePattern = '^[A-Za-z0-9._~-]+$';

export const authorizationParameters = [
  {
    name: 'client_id',
    type: 'string',
    values: [commandLineClient],
    isRequired: true,
    description: 'The program that asks.',
  },
  { name: 'response_type', type: 'string', values: ['code'], isRequired: true, description: 'Always `code`.' },
  {
    name: 'redirect_uri',
    type: 'string',
    isRequired: true,
    description: 'Where the program listens: `http://127.0.0.1:{port}/…` or `http://[::1]:{port}/…`, without a query.',
  },
  {
    name: 'code_challenge',
    type: 'string',
    isRequired: true,
    description: 'SHA-256 of the code verifier in base64url.',
  },
  { name: 'code_challenge_method', type: 'string', values: ['S256'], isRequired: true, description: 'Always `S256`.' },
  {
    name: 'state',
    type: 'string',
    isRequired: true,
    description: `Returned unchanged. ${clusterLimits.stateCharactersMin} to ${clusterLimits.stateCharacters} of \`A-Z a-z 0-9 . _ ~ -\`.`,
  },
  { name: 'device', type: 'string', description: 'Name of the machine, for the page and the list of sessions.' },
] as const satisfies readonly ClusterQueryParameter[];

/** The form on the page. `request` contains, encrypted, what the page showed and to whom. */
export const authorizationPostSchema = closed(['request', 'decision'], {
  request: { type: 'string', minLength: 1, maxLength: clusterLimits.sealedRequestCharacters },
  decision: { enum: ['allow', 'deny'] },
});

export const parseAuthorizationPost = strictParserFor<{
  readonly request: string;
  readonly decision: 'allow' | 'deny';
}>(authorizationPostSchema);
