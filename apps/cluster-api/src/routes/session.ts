import { type Membership, type Session, type SessionStore, sessionCookieOf, type UserStore } from '@corral/auth';
import { type ClusterOperationId, parseDevSignIn } from '@corral/contracts';
import type { RequestHandler } from 'express';
import type { AdmitInvited } from '../domain/admit-invited.js';
import type { Asking } from '../domain/caller.js';
import { bodyOf } from '../http/body.js';
import { askingOf, signedInOf } from '../http/caller.js';
import type { SessionCookies } from '../http/cookies.js';
import { pageOf } from '../http/cursor.js';
import { parsePaging } from '../http/query.js';
import { Problem } from '../problem.js';

export interface SessionRoutesDeps {
  readonly sessions: SessionStore;
  readonly users: Pick<UserStore, 'findUser'>;
  readonly admitInvited: AdmitInvited;
  readonly cookies: SessionCookies;
}

export function sessionRoutes({ sessions, users, admitInvited, cookies }: SessionRoutesDeps) {
  const findOrAdmit = async (email: string, asking: Asking) => {
    const known = await users.findUser(email);
    if (known !== null) return known;
    return (await admitInvited(email, asking)) ? users.findUser(email) : null;
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

    async devSignIn(req, res) {
      const { email } = parseDevSignIn(bodyOf(req));
      const user = await findOrAdmit(email, askingOf(res));
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
      res.json(meBody(session));
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
    ...{ email, displayName },
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
