import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { AccountVerifier, CallingAccount } from './accounts/account-tokens.js';
import { bearerToken } from './dns/token-verifier.js';
import { SESSION_COOKIE, sessionSecretOf } from './sessions/cookie.js';
import type { Session, SessionStore } from './sessions/store.js';

export interface LoadCallerOptions {
  readonly sessions: SessionStore;
  /** Called for every request with a session, to extend its idle expiry. */
  readonly onUse: (sessionId: string) => void;
  readonly accounts: AccountVerifier;
  /** Called for every request with a valid token, to record its last use. */
  readonly onTokenUse: (tokenId: string) => void;
}

/**
 * Loads the session or the service account of the request, if any. Routes decide whether they require one. A request
 * with a bearer token has no session: with both, it has neither.
 */
export function loadCaller({ sessions, onUse, accounts, onTokenUse }: LoadCallerOptions): RequestHandler {
  return async (req, res, next) => {
    res.locals.account = null;
    res.locals.session = null;
    if (sendsBearer(req)) {
      const token = sendsSession(req) ? null : bearerToken(req.rawHeaders);
      const account = token === null ? null : await accounts.find(token);
      res.locals.account = account;
      if (account !== null) onTokenUse(account.tokenId);
    } else {
      const secret = sessionCookieOf(req);
      const session = secret === null ? null : await sessions.find(secret);
      res.locals.session = session;
      if (session !== null) onUse(session.id);
    }
    next();
  };
}

/**
 * The stored form of what `loadCaller` looks up for a request, whether it exists or not. Null for a request with no credential, or
 * with two.
 */
export function credentialHashOf(req: Request): string | null {
  if (!sendsBearer(req)) return hashOf(sessionCookieOf(req));
  return sendsSession(req) ? null : hashOf(bearerToken(req.rawHeaders));
}

const hashOf = (text: string | null): string | null => (text === null ? null : hash('sha256', text, 'base64'));

/** Whether the request has a bearer token in any Authorization header. Other schemes belong to proxies in front. */
export function sendsBearer({ rawHeaders }: Pick<Request, 'rawHeaders'>): boolean {
  return rawHeaders.some(
    (name, at) =>
      at % 2 === 0 && name.toLowerCase() === 'authorization' && /^\s*bearer\b/i.test(rawHeaders[at + 1] ?? ''),
  );
}

/** Whether the request has a session cookie, valid or not. */
export const sendsSession = ({ headers }: Pick<Request, 'headers'>): boolean =>
  (headers.cookie ?? '').split(';').some((pair) => pair.trim().startsWith(`${SESSION_COOKIE}=`));

/** The account found by `loadCaller`; null for people and requests without credentials. Throws where it has not run. */
export function accountOf(res: Response): CallingAccount | null {
  const account: CallingAccount | null | undefined = res.locals.account;
  if (account === undefined) throw new Error('The route asks for an account that was never looked for');
  return account;
}

/** The session found by `loadCaller`; null when not signed in. Throws where `loadCaller` has not run. */
export function sessionOf(res: Response): Session | null {
  const session: Session | null | undefined = res.locals.session;
  if (session === undefined) throw new Error('The route asks for a session that was never looked for');
  return session;
}

/** The text of the request's session cookie, whether or not the session exists. */
export const sessionCookieOf = (req: Request): string | null => sessionSecretOf(req.headers.cookie);
