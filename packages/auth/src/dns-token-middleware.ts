import type { RequestHandler, Response } from 'express';
import { bearerToken } from './bearer.js';
import { DNS_SCOPE, type DnsCaller } from './dns-caller.js';
import type { DnsTokenVerifier } from './dns-token-verifier.js';

export type TokenRefusal = 'missing' | 'unknown' | 'scope';

export interface RequireDnsTokenOptions {
  readonly verifier: Pick<DnsTokenVerifier, 'verify'>;
  /** Told of every accepted request, to keep the token's last use. */
  readonly onUse: (tokenId: string) => void;
  /** Makes the API's own error of a refusal. */
  readonly refuse: (why: TokenRefusal) => Error;
}

/** Lets a request pass that carries a valid DNS token with the scope `dns`, and remembers its caller. */
export function requireDnsToken({ verifier, onUse, refuse }: RequireDnsTokenOptions): RequestHandler {
  return async (req, res, next) => {
    const token = bearerToken(req.rawHeaders);
    if (token === null) throw refuse('missing');
    const caller = await verifier.verify(token);
    if (caller === null) throw refuse('unknown');
    if (!caller.scopes.includes(DNS_SCOPE)) throw refuse('scope');
    res.locals.caller = caller;
    res.locals.team = caller.teamSlug;
    onUse(caller.tokenId);
    next();
  };
}

/** The caller that `requireDnsToken` let pass. Throws where a route forgot to require one. */
export function dnsCallerOf(res: Response): DnsCaller {
  const caller: DnsCaller | undefined = res.locals.caller;
  if (caller === undefined) throw new Error('The route requires no DNS token, but asks for its caller');
  return caller;
}
