import type { Request, RequestHandler, Response } from 'express';
import { bearerToken } from './bearer.js';
import { DNS_SCOPE, type DnsCaller } from './dns-caller.js';
import type { DnsTokenVerifier } from './dns-token-verifier.js';

export type TokenRefusal = 'missing' | 'unknown' | 'scope';

export interface RequireDnsTokenOptions {
  readonly verifier: Pick<DnsTokenVerifier, 'verify'>;
  /** Told of every request with a valid token, to keep when it was last used and how often its team asks. */
  readonly onUse: (caller: DnsCaller) => void;
  /** Makes the API's own error of a refusal. */
  readonly refuse: (why: TokenRefusal) => Error;
  /** Requests that pass without a token, as nobody; a token they do bring has to be valid. Default: none. */
  readonly isPublic?: (req: Request) => boolean;
}

/** Lets a request pass that carries a valid DNS token with the scope `dns`, and remembers its caller. */
export function requireDnsToken(options: RequireDnsTokenOptions): RequestHandler {
  const { verifier, onUse, refuse, isPublic = () => false } = options;
  return async (req, res, next) => {
    if (req.headers.authorization === undefined && isPublic(req)) return next();
    const token = bearerToken(req.rawHeaders);
    if (token === null) throw refuse('missing');
    const caller = await verifier.verify(token);
    if (caller === null) throw refuse('unknown');
    if (!caller.scopes.includes(DNS_SCOPE)) throw refuse('scope');
    res.locals.caller = caller;
    if (caller.kind === 'team') res.locals.team = caller.ownerLabel;
    onUse(caller);
    next();
  };
}

/** The caller that `requireDnsToken` let pass. Throws where a route forgot to require one. */
export function dnsCallerOf(res: Response): DnsCaller {
  const caller = findDnsCaller(res);
  if (caller === null) throw new Error('The route requires no DNS token, but asks for its caller');
  return caller;
}

/** Null for a request that `requireDnsToken` let pass without a token. */
export function findDnsCaller(res: Response): DnsCaller | null {
  return (res.locals.caller as DnsCaller | undefined) ?? null;
}
