import { createHash } from 'node:crypto';
import { type Cycle, get, kept, send } from './call.js';

const verifier = 'v'.repeat(43);
const redirectUri = 'http://127.0.0.1:51004/callback';
const request = new URLSearchParams({
  client_id: 'corral-cli',
  response_type: 'code',
  redirect_uri: redirectUri,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
  state: 'state-of-the-benchmark',
});

/** Signs in a person, and the command line, and ends the session again. */
export const signInCalls: readonly Cycle[] = [
  {
    calls: [
      {
        of: 'devSignIn',
        ask: send('POST', '/auth/dev-login/', { email: 'mate@acme.test' }, { as: 'nobody' }),
      },
      {
        of: 'showAuthorization',
        ask: get(`/auth/authorize/?${request}`),
        take: (site, { text }) => site.kept.set('page', /name="request" value="([^"]+)"/.exec(text)?.[1] ?? ''),
      },
      {
        of: 'authorize',
        ask: send(
          'POST',
          '/auth/authorize/',
          (site) => new URLSearchParams({ request: kept(site, 'page'), decision: 'allow' }),
        ),
        take: (site, { location }) => site.kept.set('code', new URL(location).searchParams.get('code') ?? ''),
      },
      {
        of: 'exchangeToken',
        how: 'a code',
        ask: send(
          'POST',
          '/auth/token/',
          (site) =>
            new URLSearchParams({
              grant_type: 'authorization_code',
              client_id: 'corral-cli',
              code: kept(site, 'code'),
              redirect_uri: redirectUri,
              code_verifier: verifier,
            }),
          { as: 'nobody' },
        ),
      },
      {
        of: 'revokeSession',
        prepare: async (site) => {
          const { rows } = await site.pool.query<{ id: string }>(
            `SELECT id FROM session WHERE method = 'command_line' AND revoked_at IS NULL ORDER BY created_at DESC LIMIT 1`,
          );
          site.kept.set('session', String(rows[0]?.id));
        },
        ask: send('DELETE', (site) => `/api/v1/me/sessions/${kept(site, 'session')}/`),
      },
    ],
  },
  {
    calls: [
      { of: 'signOut', how: 'without a session', ask: send('POST', '/auth/logout/', undefined, { as: 'nobody' }) },
    ],
  },
];
