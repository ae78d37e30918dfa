import { randomUUID } from 'node:crypto';
import { narrowScope } from '@corral/admission';
import { identityStore, type SessionStore, type SignInCodeStore, userStore } from '@corral/auth';
import type { Prisma } from '@corral/database';
import type { KeyRing } from '@corral/secrets';
import type { ChangeTeam, InTurn } from '../changes/team-changes.js';
import { teamStore } from '../teams/store.js';
import { authorizationRoutes } from './authorization-routes.js';
import { attemptCookies, sessionCookies } from './cookies.js';
import { admitInvited } from './invitations.js';
import type { OidcClient } from './oidc-client.js';
import { ownSessionRoutes, sessionRoutes } from './session-routes.js';
import { signInRoutes } from './sign-in-routes.js';

export interface SignInConfig {
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly secureCookies: boolean;
  /** Whether people can sign in with an address alone. For development only. */
  readonly devSignIn: boolean;
}

export interface SignInHandlerDeps {
  readonly config: SignInConfig;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  /** For work that uses a connection for changes but changes no team. */
  readonly inTurn: InTurn;
  readonly sessions: SessionStore;
  readonly codes: SignInCodeStore;
  readonly secrets: KeyRing;
  /** Null when no OpenID Connect provider is configured. */
  readonly oidc: OidcClient | null;
  /** Unix time in ms, for the expiry of sign-in attempts. */
  readonly now: () => number;
}

/** Builds the handlers for sign-in, sign-out and sessions. */
export function buildSignInHandlers({
  config,
  prisma,
  changeTeam,
  inTurn,
  sessions,
  codes,
  secrets,
  oidc,
  now,
}: SignInHandlerDeps) {
  const store = identityStore(prisma);
  // A sign-in completes even when the client disconnects.
  const { signal } = new AbortController();
  const cookies = sessionCookies(config.secureCookies);
  const users = userStore(prisma);
  return {
    ...sessionRoutes({
      sessions,
      users,
      cookies,
      admitInvited: admitInvited({ store: teamStore(prisma, changeTeam), newId: randomUUID }),
    }),
    ...ownSessionRoutes({ sessions, cookies }),
    ...authorizationRoutes({
      codes,
      users,
      ring: secrets,
      openIdConnect: oidc !== null,
      devSignIn: config.devSignIn,
      now,
    }),
    ...signInRoutes({
      oidc,
      sessions,
      cookies,
      publicUrl: config.publicUrl,
      devSignIn: config.devSignIn,
      identities: {
        signIn: (scope, claims) =>
          inTurn(`person ${claims.issuer} ${claims.subject}`, narrowScope(scope, { signal }), () =>
            store.signIn(claims),
          ),
      },
      attempts: attemptCookies({ ring: secrets, secure: config.secureCookies, now }),
    }),
  };
}
