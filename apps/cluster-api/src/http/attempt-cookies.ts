import { hash } from 'node:crypto';
import { clusterLimits } from '@corral/contracts';
import type { KeyRing } from '@corral/secrets';
import type { Request, Response } from 'express';
import { ATTEMPT_MS_MAX, openAttempt, type SignInAttempt, sealAttempt } from '../domain/sign-in-attempt.js';
import { cookieRules, cookiesOf } from './cookies.js';

export interface AttemptCookiesOptions {
  readonly ring: KeyRing;
  readonly secure: boolean;
  /** Unix time in ms. */
  readonly now: () => number;
}

/**
 * Sign-in attempts, kept by the browser that makes them. Each has a cookie of its own, named after its state, so that
 * tabs do not disturb each other; what comes back to another browser finds none.
 */
export function attemptCookies({ ring, secure, now }: AttemptCookiesOptions) {
  const rules = cookieRules(secure);
  // A browser takes `__Host-` from this very host only: no sibling domain can plant an attempt of somebody else.
  const prefix = secure ? '__Host-signin-' : 'signin-';
  const nameOf = (state: string) => prefix + hash('sha256', state, 'base64url').slice(0, 16);

  return {
    /** Forgets the oldest ones where there are too many: all cookies together have to fit a request. */
    keep(req: Request, res: Response, state: string, attempt: Omit<SignInAttempt, 'startedAt'>): void {
      const held = cookiesOf(req).filter(([name]) => name.startsWith(prefix));
      for (const [name] of held.slice(0, 1 - clusterLimits.signInAttemptsAtOnce)) res.clearCookie(name, rules);
      const sealed = sealAttempt(ring, state, { ...attempt, startedAt: now() });
      res.cookie(nameOf(state), sealed, { ...rules, maxAge: ATTEMPT_MS_MAX });
    },

    /** Takes the attempt out of the browser: it serves once. @returns null when it has none of this state */
    take(req: Request, res: Response, state: string): SignInAttempt | null {
      const found = cookiesOf(req).filter(([name]) => name === nameOf(state));
      if (found.length === 0) return null;
      res.clearCookie(nameOf(state), rules);
      return found.length === 1 ? openAttempt(ring, state, (found[0] as readonly string[])[1] as string, now()) : null;
    },
  };
}
export type AttemptCookies = ReturnType<typeof attemptCookies>;
