import type { Request, RequestHandler, Response } from 'express';
import { sessionSecretOf } from './session-cookie.js';
import type { Session, SessionStore } from './session-store.js';

export interface LoadSessionOptions {
  readonly sessions: Pick<SessionStore, 'find'>;
  /** Told of every request with a session, to move its idle end. */
  readonly onUse: (sessionId: string) => void;
}

/** Remembers whose request it is, if anybody's. What needs a session is for the routes to say. */
export function loadSession({ sessions, onUse }: LoadSessionOptions): RequestHandler {
  return async (req, res, next) => {
    const secret = sessionSecretOf(req.headers.cookie);
    const session = secret === null ? null : await sessions.find(secret);
    res.locals.session = session;
    if (session !== null) onUse(session.id);
    next();
  };
}

/** The session that `loadSession` found; null when nobody is signed in. */
export function sessionOf(res: Response): Session | null {
  const session: Session | null | undefined = res.locals.session;
  if (session === undefined) throw new Error('The route asks for a session that was never looked for');
  return session;
}

/** The text of the request's session cookie, whether or not such a session exists. */
export const sessionCookieOf = (req: Request): string | null => sessionSecretOf(req.headers.cookie);
