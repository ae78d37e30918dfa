import type { Request, RequestHandler, Response } from 'express';
import { sessionSecretOf } from './cookie.js';
import type { Session, SessionStore } from './store.js';

export interface LoadSessionOptions {
  readonly sessions: Pick<SessionStore, 'find'>;
  /** Called for every request with a session, to extend its idle expiry. */
  readonly onUse: (sessionId: string) => void;
}

/** Loads the session of the request, if any. Routes decide whether they require one. */
export function loadSession({ sessions, onUse }: LoadSessionOptions): RequestHandler {
  return async (req, res, next) => {
    const secret = sessionSecretOf(req.headers.cookie);
    const session = secret === null ? null : await sessions.find(secret);
    res.locals.session = session;
    if (session !== null) onUse(session.id);
    next();
  };
}

/** The session found by `loadSession`; null when not signed in. Throws where `loadSession` has not run. */
export function sessionOf(res: Response): Session | null {
  const session: Session | null | undefined = res.locals.session;
  if (session === undefined) throw new Error('The route asks for a session that was never looked for');
  return session;
}

/** The text of the request's session cookie, whether or not the session exists. */
export const sessionCookieOf = (req: Request): string | null => sessionSecretOf(req.headers.cookie);
