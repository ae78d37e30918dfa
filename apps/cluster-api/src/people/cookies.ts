import { hash } from 'node:crypto';
import { SESSION_COOKIE, type StartedSession } from '@corral/auth';
import { clusterLimits } from '@corral/contracts';
import type { KeyRing } from '@corral/secrets';
import type { CookieOptions, Request, Response } from 'express';

/** The attributes of every cookie of this service. @param secure whether browsers send it over HTTPS only */
const cookieRules = (secure: boolean): CookieOptions => ({ httpOnly: true, sameSite: 'lax', secure, path: '/' });

/** Sets and clears the session cookie. */
export function sessionCookies(secure: boolean) {
  const rules = cookieRules(secure);
  return {
    set: (res: Response, { secret, expiresAt }: StartedSession) =>
      void res.cookie(SESSION_COOKIE, secret, { ...rules, expires: expiresAt }),
    clear: (res: Response) => void res.clearCookie(SESSION_COOKIE, rules),
  };
}

/** Names and values of the cookies of a request, older ones first (RFC 6265 section 5.4). */
function cookiesOf(req: Request): (readonly [name: string, value: string])[] {
  return (req.headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at === -1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const];
  });
}

interface Dated {
  /** Unix time in ms. */
  readonly startedAt: number;
}

/** What must be stored of a sign-in while the browser is at the identity provider. */
interface SignInAttempt extends Dated {
  /** Must be in the provider's ID token, so that a token of another attempt is rejected. */
  readonly nonce: string;
  /** Proves to the provider that the code is redeemed by the party that requested it (RFC 7636). */
  readonly codeVerifier: string;
  /** A path on the service's own origin. */
  readonly returnTo: string;
}

export const ATTEMPT_MS_MAX = clusterLimits.signInMinutesMax * 60_000;

/** Encrypts a value for storage in a browser. @param owner what it is for: it opens for nothing else */
export function sealForBrowser(ring: KeyRing, owner: string, value: Dated): string {
  const { keyId, bytes } = ring.seal(JSON.stringify(value), owner);
  return `${keyId}.${Buffer.from(bytes).toString('base64url')}`;
}

/** @returns null when the text was not sealed for this owner, or more than 10 minutes ago */
export function openFromBrowser<T extends Dated>(ring: KeyRing, owner: string, text: string, now: number): T | null {
  const dot = text.lastIndexOf('.');
  if (dot === -1) return null;
  const bytes = Buffer.from(text.slice(dot + 1), 'base64url');
  const opened = ring.openOrNull({ keyId: text.slice(0, dot), bytes }, owner);
  if (opened === null) return null;
  const value: T = JSON.parse(opened);
  return now - value.startedAt < ATTEMPT_MS_MAX ? value : null;
}

interface AttemptCookiesOptions {
  readonly ring: KeyRing;
  readonly secure: boolean;
  /** Unix time in ms. */
  readonly now: () => number;
}

/**
 * Stores sign-in attempts in the browser that makes them. Each attempt has its own cookie, named after its state, so
 * tabs do not interfere. A callback in another browser finds no attempt.
 */
export function attemptCookies({ ring, secure, now }: AttemptCookiesOptions) {
  const rules = cookieRules(secure);
  // Browsers accept `__Host-` cookies from this host only, so a sibling domain cannot plant an attempt.
  const prefix = secure ? '__Host-signin-' : 'signin-';
  const ownerOf = (state: string) => `sign-in ${state}`;
  const nameOf = (state: string) => prefix + hash('sha256', state, 'base64url').slice(0, 16);

  return {
    /** Stores the attempt. Deletes the oldest ones above the limit, because all cookies must fit into a request. */
    keep(req: Request, res: Response, state: string, attempt: Omit<SignInAttempt, 'startedAt'>): void {
      const existing = cookiesOf(req).filter(([name]) => name.startsWith(prefix));
      for (const [name] of existing.slice(0, 1 - clusterLimits.signInAttemptsAtOnce)) res.clearCookie(name, rules);
      const sealed = sealForBrowser(ring, ownerOf(state), { ...attempt, startedAt: now() });
      res.cookie(nameOf(state), sealed, { ...rules, maxAge: ATTEMPT_MS_MAX });
    },

    /** Removes the attempt from the browser: it is valid once. @returns null when there is none for this state */
    take(req: Request, res: Response, state: string): SignInAttempt | null {
      const found = cookiesOf(req).filter(([name]) => name === nameOf(state));
      if (found.length > 0) res.clearCookie(nameOf(state), rules);
      const [first, ...others] = found;
      if (first === undefined || others.length > 0) return null;
      return openFromBrowser<SignInAttempt>(ring, ownerOf(state), first[1], now());
    },
  };
}
