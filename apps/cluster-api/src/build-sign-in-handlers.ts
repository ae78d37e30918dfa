import { randomUUID } from 'node:crypto';
import { identityStore, userStore } from '@corral/auth';
import type { PartDeps } from './build-app.js';
import { admitInvited } from './domain/admit-invited.js';
import { attemptCookies } from './http/attempt-cookies.js';
import { sessionCookies } from './http/cookies.js';
import { ownSessionRoutes } from './routes/own-sessions.js';
import { sessionRoutes } from './routes/session.js';
import { signInRoutes } from './routes/sign-in.js';
import { teamStore } from './store/team-store.js';

/** How people sign in and out, and who they are. */
export function buildSignInHandlers({
  config,
  prisma,
  changes,
  changeTeam,
  turns,
  sessions,
  secrets,
  oidc,
  now,
}: PartDeps) {
  const store = identityStore(changes.prisma);
  // Whoever went away has signed in all the same.
  const always = new AbortController().signal;
  const cookies = sessionCookies(config.secureCookies);
  return {
    ...sessionRoutes({
      ...{ sessions, users: userStore(prisma), cookies },
      admitInvited: admitInvited({ store: teamStore(prisma, changeTeam), newId: randomUUID }),
    }),
    ...ownSessionRoutes({ sessions, cookies }),
    ...signInRoutes({
      ...{ oidc, sessions, cookies, publicUrl: config.publicUrl, devSignIn: config.devSignIn },
      identities: {
        signIn: (claims) => turns.take(`person ${claims.issuer} ${claims.subject}`, always, () => store.signIn(claims)),
      },
      attempts: attemptCookies({ ring: secrets, secure: config.secureCookies, now }),
    }),
  };
}
