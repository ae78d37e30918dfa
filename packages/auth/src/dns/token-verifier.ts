import { type Listener, listen, type Pool, rowClock } from '@corral/database';
import { LRUCache } from 'lru-cache';
import type { DnsCaller } from './caller.js';
import { hexHashOfDnsToken, isWellFormedDnsToken } from './token.js';

export interface DnsTokenVerifier {
  /**
   * @param hash the token's stored form in hexadecimal, if it is known already
   * @returns null for a token that is malformed, unknown, revoked or expired
   */
  verify(token: string, hash?: string): Promise<DnsCaller | null>;
  /**
   * What `verify` would return without a look-up.
   *
   * @param hash the token's stored form in hexadecimal
   * @returns null also for a token that must be looked up
   */
  recall(hash: string): DnsCaller | null;
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

  const cachedOf = (key: string): Found | undefined => (listener.isConnected() ? cache.get(key) : undefined);
  const callerOf = ({ caller, endsAt }: Found): DnsCaller | null => (now() < endsAt ? caller : null);

  return {
    async verify(token, key = hexHashOfDnsToken(token)) {
      const cached = cachedOf(key);
      if (cached !== undefined) return callerOf(cached);
      return isWellFormedDnsToken(token) ? ((await lookUp(key))?.caller ?? null) : null;
    },
    recall(key) {
      const cached = cachedOf(key);
      return cached === undefined ? null : callerOf(cached);
    },
    close: () => listener.close(),
  };
}
