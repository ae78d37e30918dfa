import {
  type Membership,
  type Session,
  type SessionRecord,
  type SessionStore,
  sessionCookieOf,
  type UserStore,
} from '@corral/auth';
import { type ClusterOperationId, parseDevSignIn, type SessionBody } from '@corral/contracts';
import type { RequestHandler } from 'express';
import type { RequestContext } from '../changes/caller.js';
import { bodyOf } from '../http/body.js';
import { requestContextOf, signedInOf } from '../http/caller.js';
import { formOf, isForm } from '../http/form.js';
import { parsePaging } from '../http/query.js';
import { cursorAt, pageOf, parseId, positionOf } from '../paging.js';
import { notFound, Problem } from '../problem.js';
import type { SessionCookies } from './cookies.js';
import type { AdmitInvited } from './invitations.js';
import { defaultReturnPath, parseReturnPath } from './return-path.js';

/** Enough to choose from; others sign in with their address. */
export const DEV_PEOPLE_MAX = 20;

interface SessionRoutesDeps {
  readonly sessions: SessionStore;
  readonly users: Pick<UserStore, 'findUser' | 'listPeople'>;
  readonly admitInvited: AdmitInvited;
  readonly cookies: SessionCookies;
}

export function sessionRoutes({ sessions, users, admitInvited, cookies }: SessionRoutesDeps) {
  const findOrAdmit = async (email: string, context: RequestContext) => {
    const known = await users.findUser(email);
    if (known !== null) return known;
    return (await admitInvited(email, context)) ? users.findUser(email) : null;
  };

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
      const started = await sessions.start(user.id, sessionCookieOf(req), {
        method: 'development',
        userAgent: req.headers['user-agent'] ?? '',
      });
      const session = await sessions.find(started.secret);
      if (session === null) throw new Error('The session ended at its start');
      cookies.set(res, started);
      if (isForm(req))
        res
          .status(303)
          .location(parseReturnPath(wanted ?? '') ?? defaultReturnPath)
          .end();
      else res.json(meBody(session));
    },

    async signOut(req, res) {
      const secret = sessionCookieOf(req);
      if (secret !== null) await sessions.revoke(secret);
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

interface OwnSessionsDeps {
  readonly sessions: Pick<SessionStore, 'list' | 'revokeOne' | 'revokeAll'>;
  readonly cookies: SessionCookies;
}

/**
 * Lists and revokes the caller's own sessions. Every request looks up its session, so revocation takes effect immediately.
 */
export function ownSessionRoutes({ sessions, cookies }: OwnSessionsDeps) {
  return {
    async listSessions(req, res) {
      const { id: current, userId } = signedInOf(res);
      const { limit, after } = parsePaging(req, 2);
      const rows = await sessions.list(userId, { limit: limit + 1, after: after && positionOf(after) });
      const { items, next } = pageOf(rows, limit, cursorAt);
      res.json({ items: items.map((session) => sessionBody(session, current)), next });
    },

    async revokeSession(req, res) {
      const { id: current, userId } = signedInOf(res);
      const id = parseId(req.params.id as string);
      if (id === null || !(await sessions.revokeOne(userId, id))) throw notFound();
      if (id === current) cookies.clear(res);
      res.status(204).end();
    },

    async signOutEverywhere(_req, res) {
      await sessions.revokeAll(signedInOf(res).userId);
      cookies.clear(res);
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

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
