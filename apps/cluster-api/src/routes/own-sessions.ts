import type { SessionRecord, SessionStore } from '@corral/auth';
import type { ClusterOperationId, SessionBody } from '@corral/contracts';
import type { RequestHandler } from 'express';
import { isId } from '../domain/position.js';
import { signedInOf } from '../http/caller.js';
import type { SessionCookies } from '../http/cookies.js';
import { pageOf } from '../http/cursor.js';
import { cursorAt, positionOf } from '../http/position.js';
import { parsePaging } from '../http/query.js';
import { notFound } from '../problem.js';

export interface OwnSessionsDeps {
  readonly sessions: Pick<SessionStore, 'list' | 'revokeOne' | 'revokeAll'>;
  readonly cookies: SessionCookies;
}

/** What people see and end of their own sessions. Each request looks its session up, so an end counts at once. */
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
      const id = req.params.id as string;
      if (!isId(id) || !(await sessions.revokeOne(userId, id))) throw notFound();
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
  { id, method, userAgent, createdAt, lastSeenAt, expiresAt }: SessionRecord,
  current: string,
): SessionBody => ({
  ...{ id, method, userAgent },
  createdAt: createdAt.toISOString(),
  lastSeenAt: lastSeenAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  current: id === current,
});
