import { outside, type RequestScope } from '@corral/admission';
import { type IdentityClaims, IdentityRefused, type Person, type SessionStore, sessionCookieOf } from '@corral/auth';
import type { ClusterOperationId } from '@corral/contracts';
import { queryOf, scopeOf } from '@corral/http-api';
import type { Request, RequestHandler } from 'express';
import { invalidField, Problem } from '../problem.js';
import type { AttemptCookies, SessionCookies } from './cookies.js';
import type { OidcClient } from './oidc-client.js';
import { defaultReturnPath, parseReturnPath } from './return-path.js';

export interface SignInRoutesDeps {
  /** Null when no provider is configured. */
  readonly oidc: OidcClient | null;
  /** @throws IdentityRefused */
  readonly identities: { signIn(scope: RequestScope, claims: IdentityClaims): Promise<Person> };
  readonly sessions: Pick<SessionStore, 'start'>;
  readonly attempts: AttemptCookies;
  readonly cookies: SessionCookies;
  readonly publicUrl: () => string;
  /** Whether people can also sign in with their address alone. */
  readonly devSignIn: boolean;
}

/** Sign-in by OpenID Connect: redirect to the provider, then the callback that starts a session. */
export function signInRoutes(deps: SignInRoutesDeps) {
  const { oidc, identities, sessions, attempts, cookies, publicUrl, devSignIn } = deps;
  const configured = (): OidcClient => {
    if (oidc !== null) return oidc;
    const otherWay = devSignIn ? ' Sign in with the address only: POST /auth/dev-login/ {"email": "…"}.' : '';
    throw new Problem('not_found', `Sign-in with OpenID Connect is not configured here.${otherWay}`);
  };
  const callbackUrl = () => `${publicUrl()}/auth/callback/`;

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
      const person = await personOf(identities, scopeOf(res), claims);
      const origin = { method: 'oidc', userAgent: req.headers['user-agent'] ?? '' } as const;
      cookies.set(res, await sessions.start(person.id, sessionCookieOf(req), origin));
      res.status(303).location(new URL(attempt.returnTo, publicUrl()).href).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

async function personOf(
  identities: SignInRoutesDeps['identities'],
  scope: RequestScope,
  claims: IdentityClaims,
): Promise<Person> {
  try {
    return await identities.signIn(scope, claims);
  } catch (error) {
    throw error instanceof IdentityRefused ? refusals[error.reason]() : error;
  }
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
