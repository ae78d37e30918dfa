import { hash } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { bearerToken } from '../dns/token-middleware.js';
import { SESSION_COOKIE } from '../sessions/cookie.js';
import { type LoadSessionOptions, loadSession, sessionCookieOf } from '../sessions/middleware.js';
import type { AccountVerifier, CallingAccount } from './account-verifier.js';

export interface LoadCallerOptions extends LoadSessionOptions {
  readonly accounts: AccountVerifier;
  /** Called for every request with a valid token, to record its last use. */
  readonly onTokenUse: (tokenId: string) => void;
}

/**
 * Loads the session or the service account of the request, if any. Routes decide whether they require one. A request
 * with a bearer token has no session: with both, it has neither.
 */
export function loadCaller(options: LoadCallerOptions): RequestHandler {
  const load = loadSession(options);
  return async (req, res, next) => {
    res.locals.account = null;
    if (!sendsBearer(req)) {
      await load(req, res, next);
      return;
    }
    res.locals.session = null;
    const token = sendsSession(req) ? null : bearerToken(req.rawHeaders);
    const account = token === null ? null : await options.accounts.find(token);
    res.locals.account = account;
    if (account !== null) options.onTokenUse(account.tokenId);
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
