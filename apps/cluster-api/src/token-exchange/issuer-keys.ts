import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { IssuerCalls } from './issuer-calls.js';

/** Finds the key of a token of an issuer. */
export type KeysOf = (issuer: string) => Promise<JWTVerifyGetKey>;

/** The keys of an issuer cannot be read. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

export interface IssuerKeysOptions {
  readonly calls: IssuerCalls;
  /** Minimum time between two reads of the keys of an issuer for keys that are unknown, in ms. */
  readonly coolDownMs?: number;
}

/** More issuers than that read their keys again. */
const ISSUERS_MAX = 500;
const DISCOVERY_MS = 3_600_000;
/** A key that an issuer withdraws is accepted for at most so long. */
const KEYS_MS = 600_000;
const COOL_DOWN_MS = 30_000;
/** After a failed read an issuer is not called again for so long. */
const FAILURE_MS = 10_000;

/**
 * Keys of issuers by OpenID Connect Discovery 1.0, cached. A token with an unknown key makes them be read again, because
 * issuers rotate keys, but not more often than the cool-down allows. Concurrent reads of one issuer are one call.
 */
export function issuerKeys({ calls, coolDownMs = COOL_DOWN_MS }: IssuerKeysOptions): KeysOf {
  const failed = new LRUCache<string, true>({ max: ISSUERS_MAX, ttl: FAILURE_MS });
  const read = async (issuer: string, url: URL) => {
    if (failed.has(issuer)) throw new KeysUnavailable('a recent read failed');
    try {
      return await calls.readJson(url);
    } catch (cause) {
      failed.set(issuer, true);
      throw new KeysUnavailable('the read failed', { cause });
    }
  };

  const discover = async (issuer: string): Promise<JWTVerifyGetKey> => {
    const url = new URL(`${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`);
    const { issuer: named, jwks_uri: keysUrl } = await read(issuer, url);
    if (named !== issuer || typeof keysUrl !== 'string' || !URL.canParse(keysUrl)) {
      failed.set(issuer, true);
      throw new KeysUnavailable('the discovery document names another issuer, or no keys');
    }
    return createRemoteJWKSet(new URL(keysUrl), {
      cooldownDuration: coolDownMs,
      cacheMaxAge: KEYS_MS,
      // The bounds of the call are ours.
      [customFetch]: async (address) => Response.json(await read(issuer, new URL(address))),
    });
  };

  const discovered = new LRUCache<string, JWTVerifyGetKey>({
    max: ISSUERS_MAX,
    ttl: DISCOVERY_MS,
    fetchMethod: (issuer) => discover(issuer),
  });
  return (issuer) => discovered.forceFetch(issuer);
}
