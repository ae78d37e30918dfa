import { narrowScope, outside, type RequestScope } from '@corral/admission';
import { type IdentityClaims, IdentityRefused, identityStore, type Person } from '@corral/auth';
import type { ClusterOperationId } from '@corral/contracts';
import { queryOf, scopeOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { sessionCookieOf } from '../http/caller.js';
import { invalidField, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { attemptCookies, sessionCookies } from './cookies.js';
import type { OidcClient } from './oidc-client.js';
import { defaultReturnPath, parseReturnPath } from './return-path.js';

/** Sign-in by OpenID Connect: redirect to the provider, then the callback that starts a session. */
export function signInRoutes({ config, prisma, runQueued, sessions, secrets, oidc, now }: Services) {
  const { publicUrl, secureCookies, devSignIn } = config;
  const identities = identityStore(prisma);
  const cookies = sessionCookies(secureCookies);
  const attempts = attemptCookies({ ring: secrets, secure: secureCookies, now });
  const callbackUrl = () => `${publicUrl()}/auth/callback/`;
  const configured = (): OidcClient => {
    if (oidc !== null) return oidc;
    const otherWay = devSignIn ? ' Sign in with the address only: POST /auth/dev-login/ {"email": "…"}.' : '';
    throw new Problem('not_found', `Sign-in with OpenID Connect is not configured here.${otherWay}`);
  };
  // A sign-in completes even when the client disconnects.
  const { signal } = new AbortController();
  const personOf = (scope: RequestScope, claims: IdentityClaims): Promise<Person> =>
    runQueued(`person ${claims.issuer} ${claims.subject}`, narrowScope(scope, { signal }), () =>
      identities.signIn(claims),
    ).catch((error: unknown) => {
      throw error instanceof IdentityRefused ? refusals[error.reason]() : error;
    });

  return {
    async startSignIn(req, res) {
      const provider = configured();
      const returnTo = returnPathOf(req);
      const { url, state, ...checks } = await outside(scopeOf(res), () => provider.begin(callbackUrl()));
      attempts.keep(req, res, state, { ...checks, returnTo });
      res.status(302).location(url).end();
    },

    async finishSignIn(req, res) {
      const provider = configured();
      const query = queryOf(req);
      const state = query.get('state') ?? '';
      const attempt = attempts.take(req, res, state);
      if (attempt === null) {
        const detail =
          'This browser has no open sign-in attempt for this answer, or the attempt has expired. Start again at /auth/login/.';
        throw new Problem('sign_in_expired', detail);
      }
      const claims = await outside(scopeOf(res), () =>
        provider.finish(new URL(`${callbackUrl()}?${query}`), { state, ...attempt }),
      );
      const person = await personOf(scopeOf(res), claims);
      const origin = { method: 'oidc', userAgent: req.headers['user-agent'] ?? '' } as const;
      cookies.set(res, await sessions.start(person.id, sessionCookieOf(req), origin));
      res.status(303).location(new URL(attempt.returnTo, publicUrl()).href).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

const refusals: Readonly<Record<IdentityRefused['reason'], () => Problem>> = {
  unverified: () =>
    new Problem(
      'email_not_verified',
      'The identity provider does not report your e-mail address as verified. Verify it there, then start again.',
    ),
  another_identity: () =>
    new Problem(
      'another_identity',
      'Another identity of the identity provider has already signed in with your e-mail address. Ask the operators.',
    ),
};

function returnPathOf(req: Request): string {
  const wanted = queryOf(req).get('return_to');
  const path = wanted === null ? defaultReturnPath : parseReturnPath(wanted);
  if (path === null) {
    throw invalidField('validation_failed', '/query/return_to', 'must be a path of this service, such as /docs/');
  }
  return path;
}
