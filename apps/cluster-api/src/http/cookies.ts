import { SESSION_COOKIE, type StartedSession } from '@corral/auth';
import type { CookieOptions, Request, Response } from 'express';

/** What holds for every cookie of this service. @param secure whether browsers may send it over HTTPS only */
export const cookieRules = (secure: boolean): CookieOptions => ({ httpOnly: true, sameSite: 'lax', secure, path: '/' });

/** The cookie that is the session. */
export function sessionCookies(secure: boolean) {
  const rules = cookieRules(secure);
  return {
    set: (res: Response, { secret, expiresAt }: StartedSession) =>
      void res.cookie(SESSION_COOKIE, secret, { ...rules, expires: expiresAt }),
    clear: (res: Response) => void res.clearCookie(SESSION_COOKIE, rules),
  };
}
export type SessionCookies = ReturnType<typeof sessionCookies>;

/** Names and values of the cookies of a request, in their order (RFC 6265 section 4.2.1): older ones come first. */
export function cookiesOf(req: Request): (readonly [name: string, value: string])[] {
  return (req.headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at === -1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const];
  });
}
