import { type Listener, listen, type Pool, rowClock } from '@corral/database';
import { LRUCache } from 'lru-cache';
import type { DnsCaller } from './dns-caller.js';
import { hexHashOfDnsToken, isWellFormedDnsToken } from './dns-token.js';

export interface DnsTokenVerifier {
  /** @returns null for a token that is malformed, unknown, revoked or expired */
  verify(token: string): Promise<DnsCaller | null>;
  close(): Promise<void>;
}

export interface VerifierOptions {
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly applicationName: string;
  /** In ms, by a clock that is never put forward or back. */
  readonly now?: () => number;
  /** How long a token stays in memory, should a notification ever be lost. */
  readonly cachedMs?: number;
  readonly onListenError: (error: Error) => void;
  /** By which the proof grows old that news arrives: monotonic, milliseconds. */
  readonly tick?: () => number;
}

/** The channel that triggers tell of every change, with the token's hash in hexadecimal. */
const CHANNEL = 'dns_token_changed';
/** A bound on memory. */
const CACHED_TOKENS_MAX = 10_000;
const CACHED_MS = 30_000;

const ends = 'least(token.expires_at, demo.expires_at)';

const findCaller = {
  name: 'dns-token-by-hash',
  text: `SELECT token.id AS "tokenId", CASE WHEN demo.id IS NULL THEN 'team' ELSE 'demo' END AS kind,
                coalesce(demo.id, team.id) AS "ownerId", coalesce(demo.label, team.slug) AS "ownerLabel",
                coalesce(demo.team_id, team.id) AS "teamId",
                coalesce(demo.team_id, demo.course_code_id, team.id) AS "accountId", token.scopes,
                token.within_name AS "withinName", token.within_types AS "withinTypes",
                ${ends} AS "expiresAt",
                (extract(epoch FROM ${ends} - ${rowClock}) * 1000)::float8 AS "leftMs"
         FROM dns_token token
         LEFT JOIN team ON team.id = token.team_id
         LEFT JOIN demo ON demo.id = token.demo_id
         WHERE token.hash = $1 AND token.revoked_at IS NULL AND coalesce(${ends}, 'infinity') > ${rowClock}`,
};

/** `leftMs`: for how long the token holds, as the database reckons; null for ever. */
type Row = DnsCaller & { readonly leftMs: number | null };

interface Found {
  readonly caller: DnsCaller;
  readonly endsAt: number;
}

/**
 * Checks tokens, with those lately seen in memory. They are dropped at once when Postgres tells of a change, and none
 * is trusted while it is not proven that such news arrives: then each is looked up. A proof is good for 1.5 s, and that
 * is how long a revoked token may be accepted in the worst case. When a token ends is for the database's clock to say: of
 * this process only counts how much time has gone by since.
 */
export function dnsTokenVerifier(options: VerifierOptions): DnsTokenVerifier {
  const now = options.now ?? (() => performance.now());
  const cache = new LRUCache<string, Found>({ max: CACHED_TOKENS_MAX, ttl: options.cachedMs ?? CACHED_MS });
  // A look-up that began before a change was told may still bring the old row: it must not be kept.
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
    async verify(token) {
      const key = hexHashOfDnsToken(token);
      const cached = listener.isConnected() ? cache.get(key) : undefined;
      if (cached === undefined) return isWellFormedDnsToken(token) ? ((await lookUp(key))?.caller ?? null) : null;
      return now() < cached.endsAt ? cached.caller : null;
    },
    close: () => listener.close(),
  };
}
