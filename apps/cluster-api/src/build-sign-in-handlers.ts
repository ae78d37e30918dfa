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
export function buildSignInHandlers({ config, prisma, changes, changeTeam, sessions, secrets, oidc, now }: PartDeps) {
  const cookies = sessionCookies(config.secureCookies);
  return {
    ...sessionRoutes({
      ...{ sessions, users: userStore(prisma), cookies },
      admitInvited: admitInvited({ store: teamStore(prisma, changeTeam), newId: randomUUID }),
    }),
    ...ownSessionRoutes({ sessions, cookies }),
    ...signInRoutes({
      ...{ oidc, sessions, cookies, publicUrl: config.publicUrl, devSignIn: config.devSignIn },
      identities: identityStore(changes.prisma),
      attempts: attemptCookies({ ring: secrets, secure: config.secureCookies, now }),
    }),
  };
}
