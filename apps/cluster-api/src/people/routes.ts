import { type Membership, type Session, type SessionRecord, type UserRecord, userStore } from '@corral/auth';
import { type ClusterOperationId, parseDevSignIn, type SessionBody } from '@corral/contracts';
import type { RequestHandler } from 'express';
import type { RequestContext } from '../changes/caller.js';
import { requestContextOf, sessionCookieOf, signedInOf } from '../http/caller.js';
import { formOf, isForm } from '../http/form.js';
import { bodyOf, parsePaging } from '../http/request.js';
import { admitInvited } from '../invitations/invitations.js';
import { cursorAt, pageOf, positionOf, requiredId } from '../paging.js';
import { notFound, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { authorizationRoutes, DEV_PEOPLE_MAX } from './authorization-routes.js';
import { sessionCookies } from './cookies.js';
import { deviceRoutes } from './device-routes.js';
import { notificationRoutes } from './notification-routes.js';
import { defaultReturnPath, parseReturnPath } from './return-path.js';
import { signInRoutes } from './sign-in-routes.js';

/** The handlers of sign-in, sign-out and sessions. */
export const peopleRoutes = (services: Services) => ({
  ...signInRoutes(services),
  ...authorizationRoutes(services),
  ...deviceRoutes(services, services.limits.forgiveUserCode),
  ...devSignInRoutes(services),
  ...sessionRoutes(services),
  ...notificationRoutes(services),
});

/** Sign-in with an address alone, for development. The route table leaves it out elsewhere. */
function devSignInRoutes({ config, prisma, changeTeam, sessions }: Services) {
  const cookies = sessionCookies(config.secureCookies);
  const users = userStore(prisma);
  const findOrAdmit = async (email: string, context: RequestContext): Promise<UserRecord | null> => {
    const known = await users.findUser(email);
    if (known !== null) return known;
    return (await admitInvited(prisma, changeTeam, email, context)) ? users.findUser(email) : null;
  };
  return {
    async listDevPeople(_req, res) {
      res.json({ items: await users.listPeople(DEV_PEOPLE_MAX) });
    },

    async devSignIn(req, res) {
      const { email, return_to: wanted } = parseDevSignIn(isForm(req) ? formOf(req) : bodyOf(req));
      const user = await findOrAdmit(email, requestContextOf(res));
      if (user === null) {
        throw new Problem(
          'permission_denied',
          'No user has this e-mail address, and it has no open invitation. Have it invited to a team, or create the user: npm run admin -- user create, followed by the address.',
        );
      }
      const userAgent = req.headers['user-agent'] ?? '';
      const started = await sessions.start(user.id, sessionCookieOf(req), { method: 'development', userAgent });
      const session = await sessions.find(started.secret);
      if (session === null) throw new Error('The session ended at its start');
      cookies.set(res, started);
      const returnTo = parseReturnPath(wanted ?? '') ?? defaultReturnPath;
      if (isForm(req)) res.status(303).location(returnTo).end();
      else res.json(meBody(session));
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

/** A person and their own sessions. Every request looks up its session, so revocation takes effect immediately. */
function sessionRoutes({ config, sessions }: Services) {
  const cookies = sessionCookies(config.secureCookies);
  return {
    getMe(_req, res) {
      res.json(meBody(signedInOf(res)));
    },

    listTeams(req, res) {
      const { limit, after } = parsePaging(req, 1);
      const { memberships } = signedInOf(res);
      const behind = memberships.filter(({ slug }) => after === null || slug > (after[0] as string));
      const { items, next } = pageOf(behind, limit, ({ slug }) => [slug]);
      res.json({ items: items.map(membershipBody), next });
    },

    async listSessions(req, res) {
      const { id: current, userId } = signedInOf(res);
      const { limit, after } = parsePaging(req, 2);
      const rows = await sessions.list(userId, { limit: limit + 1, after: after && positionOf(after) });
      const { items, next } = pageOf(rows, limit, cursorAt);
      res.json({ items: items.map((session) => sessionBody(session, current)), next });
    },

    async revokeSession(req, res) {
      const { id: current, userId } = signedInOf(res);
      const id = requiredId(req.params.id);
      if (!(await sessions.revokeOne(userId, id))) throw notFound();
      if (id === current) cookies.clear(res);
      res.status(204).end();
    },

    async signOut(req, res) {
      const secret = sessionCookieOf(req);
      if (secret !== null) await sessions.revoke(secret);
      cookies.clear(res);
      res.status(204).end();
    },

    async signOutEverywhere(_req, res) {
      await sessions.revokeAll(signedInOf(res).userId);
      cookies.clear(res);
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

function meBody({ userNumber, email, displayName, memberships, createdAt, expiresAt, idleExpiresAt }: Session) {
  return {
    id: userNumber,
    email,
    displayName,
    session: { createdAt, expiresAt, idleExpiresAt },
    teams: memberships.map(membershipBody),
  };
}

const membershipBody = ({ teamNumber, slug, name, role }: Membership) => ({
  id: teamNumber,
  slug,
  name: name === '' ? slug : name,
  role,
});

const sessionBody = (
  { id, method, name, userAgent, createdAt, lastSeenAt, expiresAt }: SessionRecord,
  current: string,
): SessionBody => ({
  id,
  method,
  name,
  userAgent,
  createdAt: createdAt.toISOString(),
  lastSeenAt: lastSeenAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  current: id === current,
});
