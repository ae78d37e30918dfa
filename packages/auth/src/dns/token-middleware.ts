import type { Request, RequestHandler, Response } from 'express';
import { DNS_SCOPE, type DnsCaller } from './caller.js';
import type { DnsTokenVerifier } from './token-verifier.js';

/**
 * Reads the bearer token of a request (RFC 6750 section 2.1). Takes the raw headers because Node.js silently drops a
 * second Authorization header, and a proxy in front may have checked either of the two.
 *
 * @returns null when there is no Authorization header, more than one, another scheme, or a token with white space
 */
export function bearerToken(rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'authorization') continue;
    if (value !== null) return null;
    value = rawHeaders[index + 1] ?? '';
  }
  return value === null ? null : (/^bearer +([^\s]+)$/i.exec(value.trim())?.[1] ?? null);
}

export type TokenRefusal = 'missing' | 'unknown' | 'scope';

export interface RequireDnsTokenOptions {
  readonly verifier: Pick<DnsTokenVerifier, 'verify'>;
  /** Called for every request with a valid token, to record its last use and count the team's requests. */
  readonly onUse: (caller: DnsCaller) => void;
  /** Creates the API's error for a refusal. */
  readonly refuse: (why: TokenRefusal) => Error;
  /** Requests that may come without a token. A token sent with one must still be valid. Default: none. */
  readonly isPublic?: (req: Request) => boolean;
  /** Requests for which any valid token will do. Default: none. */
  readonly isForAnyScope?: (req: Request) => boolean;
}

/** Requires a valid DNS token, in general with the scope `dns`, and stores its caller for `dnsCallerOf`. */
export function requireDnsToken(options: RequireDnsTokenOptions): RequestHandler {
  const { verifier, onUse, refuse, isPublic = () => false, isForAnyScope = () => false } = options;
  return async (req, res, next) => {
    if (req.headers.authorization === undefined && isPublic(req)) return next();
    const token = bearerToken(req.rawHeaders);
    if (token === null) throw refuse('missing');
    const caller = await verifier.verify(token);
    if (caller === null) throw refuse('unknown');
    if (!caller.scopes.includes(DNS_SCOPE) && !isForAnyScope(req)) throw refuse('scope');
    res.locals.caller = caller;
    if (caller.kind === 'team') res.locals.team = caller.ownerLabel;
    onUse(caller);
    next();
  };
}

/** The caller stored by `requireDnsToken`. Throws on a route that does not require a token. */
export function dnsCallerOf(res: Response): DnsCaller {
  const caller = findDnsCaller(res);
  if (caller === null) throw new Error('The route requires no DNS token, but asks for its caller');
  return caller;
}

/** Null for a public request without a token. */
export function findDnsCaller(res: Response): DnsCaller | null {
  return (res.locals.caller as DnsCaller | undefined) ?? null;
}
