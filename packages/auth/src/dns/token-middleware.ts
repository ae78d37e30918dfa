import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { DNS_SCOPE, type DnsCaller } from './caller.js';
import { hexHashOfDnsToken } from './token.js';
import type { DnsTokenVerifier } from './token-verifier.js';

const HEADER = 'authorization';

/**
 * Reads the bearer token of a request (RFC 6750 section 2.1). Takes the raw headers because Node.js silently drops a
 * second Authorization header, and a proxy in front may have checked either of the two.
 *
 * @returns null when there is no Authorization header, more than one, another scheme, or a token with white space
 */
export function bearerToken(rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length !== HEADER.length || name.toLowerCase() !== HEADER) continue;
    if (value !== null) return null;
    value = rawHeaders[index + 1] ?? '';
  }
  return value === null ? null : (/^bearer +([^\s]+)$/i.exec(value.trim())?.[1] ?? null);
}

/** The token of a request, good or not. */
interface PresentedToken {
  readonly text: string;
  /** Its stored form in hexadecimal. */
  readonly hash: string;
}

const PRESENTED = Symbol('presented token');

/** Several parts of a service ask for it, and hashing takes longer than all else about a token. */
function presentedDnsToken(req: IncomingMessage & { [PRESENTED]?: PresentedToken | null }): PresentedToken | null {
  const known = req[PRESENTED];
  if (known !== undefined) return known;
  const text = bearerToken(req.rawHeaders);
  const token = text === null ? null : { text, hash: hexHashOfDnsToken(text) };
  req[PRESENTED] = token;
  return token;
}

/** The stored form of a request's token, which may be that of no token. Null without one. */
export const dnsTokenHashOf = (req: IncomingMessage): string | null => presentedDnsToken(req)?.hash ?? null;

export type TokenRefusal = 'missing' | 'unknown' | 'scope';

export interface RequireDnsTokenOptions {
  readonly verifier: Pick<DnsTokenVerifier, 'verify' | 'recall'>;
  /** Called for every request with a valid token, to record its last use and count the team's requests. */
  readonly onUse: (caller: DnsCaller) => void;
  /** Creates the API's error for a refusal. */
  readonly refuse: (why: TokenRefusal) => Error;
  /** Requests that may come without a token. A token sent with one must still be valid. Default: none. */
  readonly isPublic?: (req: Request) => boolean;
  /** Requests for which any valid token will do. Default: none. */
  readonly isForAnyScope?: (req: Request) => boolean;
}

export interface DnsTokenCheck {
  /** Finds the caller of the request's token for `findDnsCaller`. Refuses nothing, so that limits can tell callers from strangers. */
  readonly load: RequestHandler;
  /** Requires a valid DNS token, in general with the scope `dns`. Runs after `load`. */
  readonly require: RequestHandler;
}

export function dnsTokenCheck(options: RequireDnsTokenOptions): DnsTokenCheck {
  const { verifier, onUse, refuse, isPublic = () => false, isForAnyScope = () => false } = options;
  const suits = ({ scopes }: DnsCaller, req: Request): boolean => scopes.includes(DNS_SCOPE) || isForAnyScope(req);
  return {
    async load(req, res, next) {
      const token = presentedDnsToken(req);
      const caller =
        token === null ? null : (verifier.recall(token.hash) ?? (await verifier.verify(token.text, token.hash)));
      res.locals.caller = caller;
      if (caller?.kind === 'team') res.locals.team = caller.ownerLabel;
      if (caller !== null) onUse(caller);
      next();
    },
    require(req, res, next) {
      if (req.headers.authorization === undefined && isPublic(req)) return next();
      const caller = findDnsCaller(res);
      if (caller === null) throw refuse(presentedDnsToken(req) === null ? 'missing' : 'unknown');
      if (!suits(caller, req)) throw refuse('scope');
      next();
    },
  };
}

/** The caller of a request with a valid token. Throws on a route that does not require one. */
export function dnsCallerOf(res: Response): DnsCaller {
  const caller = findDnsCaller(res);
  if (caller === null) throw new Error('The route requires no DNS token, but asks for its caller');
  return caller;
}

/** Null without a valid token. */
export function findDnsCaller(res: Response): DnsCaller | null {
  return (res.locals.caller as DnsCaller | undefined) ?? null;
}
