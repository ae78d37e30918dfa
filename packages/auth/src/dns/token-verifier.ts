import { hash, randomInt } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { crc32 } from 'node:zlib';
import type { TeamId, TokenCoverage } from '@corral/contracts';
import { type Listener, listen, type Pool, rowClock } from '@corral/database';
import type { Request, RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Clients of the upstream (Terraform, the hcloud CLI) reject other lengths. */
const TOKEN_CHARACTERS = 64;
const CHECKSUM_CHARACTERS = 6;
const tokenPattern = /^[A-Za-z0-9]{64}$/;

/** Creates a DNS token: 58 random characters (345 bits) and a checksum of six. */
export function mintDnsToken(): string {
  let secret = '';
  while (secret.length < TOKEN_CHARACTERS - CHECKSUM_CHARACTERS) secret += alphabet[randomInt(alphabet.length)];
  return secret + checksumOf(secret);
}

/** Whether the text has a valid checksum. Rejects mistyped tokens without a look-up. */
export function isWellFormedDnsToken(text: string): boolean {
  if (!tokenPattern.test(text)) return false;
  const secret = text.slice(0, -CHECKSUM_CHARACTERS);
  return text.slice(-CHECKSUM_CHARACTERS) === checksumOf(secret);
}

/** The stored form of a token. A fast hash is enough because tokens are random. */
export function hashDnsToken(token: string): Buffer {
  return Buffer.from(hexHashOfDnsToken(token), 'hex');
}

/**
 * The stored form in hexadecimal. The one-shot `hash` takes half the time of a hash object; this runs on every request.
 */
function hexHashOfDnsToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** CRC-32 as six base-62 digits. Protects against typing errors, not against forgery. */
function checksumOf(secret: string): string {
  let rest = crc32(secret);
  let digits = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = (alphabet[rest % alphabet.length] as string) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** The scope that the record-set endpoints require. */
export const DNS_SCOPE = 'dns';
/** Enough for their reads. Sessions of viewers have it. */
export const DNS_READ_SCOPE = 'dns:read';

/** The caller of the DNS API, from its token. Contains nothing that would reveal the token's text. */
export interface DnsCaller extends TokenCoverage {
  readonly tokenId: string;
  /** A team's names are in the team zone, a demo's in the demo zone. Neither sees the other zone. */
  readonly kind: 'team' | 'demo';
  /** The team or demo that owns names, quota and actions. */
  readonly ownerId: string;
  /** The team, or the team of the demo; null for a demo created with a course code. */
  readonly teamId: TeamId | null;
  /** Account for request and upstream budgets: the team, or the course, which counts as one team. */
  readonly accountId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** The team's own limits of requests per minute: of each of its tokens, and of all together. Null for the default. */
  readonly tokenRequestsMax: number | null;
  readonly teamRequestsMax: number | null;
}

export interface DnsTokenVerifier {
  /**
   * @param hash the token's stored form in hexadecimal, if it is known already
   * @returns null for a token that is malformed, unknown, revoked or expired
   */
  verify(token: string, hash?: string): Promise<DnsCaller | null>;
  close(): Promise<void>;
}

export interface VerifierOptions {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly applicationName: string;
  /** Monotonic clock in ms. */
  readonly now?: () => number;
  /** How long a token stays cached if a notification is lost, in ms. */
  readonly cachedMs?: number;
  readonly onListenError: (error: Error) => void;
  /** Monotonic clock in ms for the age of the proof that notifications arrive. */
  readonly tick?: () => number;
}

/** Triggers notify this channel of every change, with the token's hash in hexadecimal. */
const CHANNEL = 'dns_token_changed';
/** Bounds memory. */
const CACHED_TOKENS_MAX = 10_000;
const CACHED_MS = 30_000;

const ends = 'least(token.expires_at, demo.expires_at)';

const findCaller = {
  name: 'dns-caller-by-token',
  text: `SELECT token.id AS "tokenId", CASE WHEN demo.id IS NULL THEN 'team' ELSE 'demo' END AS kind,
                coalesce(demo.id, team.id) AS "ownerId", coalesce(demo.label, team.slug) AS "ownerLabel",
                team.id AS "teamId", coalesce(team.id, demo.course_code_id) AS "accountId", token.scopes,
                token.within_name AS "withinName", token.within_types AS "withinTypes",
                ${ends} AS "expiresAt", team.dns_token_requests_max AS "tokenRequestsMax",
                team.dns_requests_max AS "teamRequestsMax",
                (extract(epoch FROM ${ends} - ${rowClock}) * 1000)::float8 AS "leftMs"
         FROM dns_token token
         LEFT JOIN demo ON demo.id = token.demo_id
         LEFT JOIN team ON team.id = coalesce(token.team_id, demo.team_id)
         WHERE token.hash = $1 AND token.revoked_at IS NULL AND coalesce(${ends}, 'infinity') > ${rowClock}`,
};

/** `leftMs`: remaining lifetime by the database's clock; null for no expiry. */
type Row = DnsCaller & { readonly leftMs: number | null };

interface Found {
  readonly caller: DnsCaller;
  /** By the clock `now`. */
  readonly endsAt: number;
}

/**
 * Verifies tokens with a cache. A cached token is dropped as soon as Postgres notifies a change. While it is unproven
 * that notifications arrive, the cache is not used. A proof is valid for 1.5 s, which bounds how long a revoked token
 * can be accepted. Expiry follows the database's clock; this process only measures elapsed time.
 */
export function dnsTokenVerifier(options: VerifierOptions): DnsTokenVerifier {
  const now = options.now ?? (() => performance.now());
  const cache = new LRUCache<string, Found>({ max: CACHED_TOKENS_MAX, ttl: options.cachedMs ?? CACHED_MS });
  // A look-up that began before a change was notified may return the old row and must not be cached.
  let changesSeen = 0;
  const listener: Listener = listen({
    databaseUrl: options.databaseUrl,
    applicationName: options.applicationName,
    channels: {
      [CHANNEL]: (hash) => {
        changesSeen += 1;
        cache.delete(hash);
      },
    },
    onGap: () => {
      changesSeen += 1;
      cache.clear();
    },
    onError: options.onListenError,
    ...(options.tick === undefined ? {} : { tick: options.tick }),
  });

  const lookUp = async (key: string): Promise<Found | null> => {
    const changesBefore = changesSeen;
    const askedAt = now();
    const { rows } = await options.pool.query<Row>({ ...findCaller, values: [Buffer.from(key, 'hex')] });
    if (rows[0] === undefined) return null;
    const { leftMs, ...caller } = rows[0];
    const found = { caller, endsAt: askedAt + (leftMs ?? Number.POSITIVE_INFINITY) };
    if (listener.isConnected() && changesSeen === changesBefore) cache.set(key, found);
    return found;
  };

  return {
    async verify(token, key = hexHashOfDnsToken(token)) {
      const cached = listener.isConnected() ? cache.get(key) : undefined;
      if (cached !== undefined) return now() < cached.endsAt ? cached.caller : null;
      return isWellFormedDnsToken(token) ? ((await lookUp(key))?.caller ?? null) : null;
    },
    close: () => listener.close(),
  };
}

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

/** Reads and hashes the token once per request: several parts of a service ask for it, and the hash is what takes time. */
function presentedDnsToken(req: IncomingMessage & { [PRESENTED]?: PresentedToken | null }): PresentedToken | null {
  const known = req[PRESENTED];
  if (known !== undefined) return known;
  const text = bearerToken(req.rawHeaders);
  const token = text === null ? null : { text, hash: hexHashOfDnsToken(text) };
  req[PRESENTED] = token;
  return token;
}

/** The stored form of a request's token, valid or not. Null without a token. */
export const dnsTokenHashOf = (req: IncomingMessage): string | null => presentedDnsToken(req)?.hash ?? null;

export type TokenRefusal = 'missing' | 'unknown' | 'scope' | 'read only';

interface DnsTokenCheckOptions {
  readonly verifier: DnsTokenVerifier;
  /** Called for every request with a valid token, to record its last use and count the team's requests. */
  readonly onUse: (caller: DnsCaller) => void;
  /** Creates the API's error for a refusal. */
  readonly refuse: (why: TokenRefusal) => Error;
  /** Requests that may come without a token. A token sent with one must still be valid. Default: none. */
  readonly isPublic?: (req: Request) => boolean;
  /** Requests for which any valid token will do. Default: none. */
  readonly isForAnyScope?: (req: Request) => boolean;
}

interface DnsTokenCheck {
  /** Finds the caller of the request's token for `findDnsCaller`. Refuses nothing, so that limits can tell callers from strangers. */
  readonly load: RequestHandler;
  /** Requires a valid DNS token, in general with the scope `dns`, or `dns:read` for GET and HEAD. Runs after `load`. */
  readonly require: RequestHandler;
}

export function dnsTokenCheck(options: DnsTokenCheckOptions): DnsTokenCheck {
  const { verifier, onUse, refuse, isPublic = () => false, isForAnyScope = () => false } = options;
  const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';
  const refusalOf = ({ scopes }: DnsCaller, req: Request): TokenRefusal | null => {
    if (scopes.includes(DNS_SCOPE) || isForAnyScope(req)) return null;
    if (!scopes.includes(DNS_READ_SCOPE)) return 'scope';
    return isRead(req) ? null : 'read only';
  };
  return {
    async load(req, res, next) {
      const token = presentedDnsToken(req);
      const caller = token && (await verifier.verify(token.text, token.hash));
      res.locals.caller = caller;
      if (caller?.kind === 'team') res.locals.team = caller.ownerLabel;
      if (caller !== null) {
        res.locals.tokenId = caller.tokenId;
        onUse(caller);
      }
      next();
    },
    require(req, res, next) {
      if (req.headers.authorization === undefined && isPublic(req)) return next();
      const caller = findDnsCaller(res);
      if (caller === null) throw refuse(presentedDnsToken(req) === null ? 'missing' : 'unknown');
      const refusal = refusalOf(caller, req);
      if (refusal !== null) throw refuse(refusal);
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
