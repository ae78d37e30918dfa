import type { Request } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import type { Buckets } from './buckets.js';
import { type RequestLimiter, requestLimiter } from './request-limiter.js';

/** Prefix length of one IPv6 client: a host or household gets a /64, which has 2^64 addresses. */
const HOST_BITS = 64;
/** A site gets a /48 at most, which has 65,536 times the /64 networks of a host. */
const SITE_BITS = 48;
/** The limit of an IPv6 site in multiples of a single address's limit. */
export const ADDRESSES_PER_SITE = 4;

/** Parsing an address takes longer than finding it. Bounds memory. */
const ADDRESSES_KEPT = 10_000;

function prefixOf(bits: number): (address: string) => string {
  const known = new LRUCache<string, string>({ max: ADDRESSES_KEPT });
  return (address) => {
    const found = known.get(address);
    if (found !== undefined) return found;
    const prefix = ipKeyGenerator(address, bits);
    known.set(address, prefix);
    return prefix;
  };
}

/** A client's IPv4 address, or its /64 network for IPv6. */
export const peerOf = prefixOf(HOST_BITS);
const networkOf = prefixOf(SITE_BITS);

/** The same for a request. */
export const addressOf = (req: Request): string => peerOf(req.ip ?? '');

export interface AddressLimit {
  readonly perMinute: number;
  /** Prefix of the limits' names. */
  readonly prefix: string;
  /** Creates the API's error for an address or its /48. */
  readonly refuse: (retryAfterSeconds: number, whose: 'address' | 'network') => Error;
}

/**
 * Limits requests per address. IPv6 is limited per /64 and also per /48, because the holder of a /48 has practically
 * unlimited addresses. Requests that turn out to be authenticated get their charge back, so only failed attempts count.
 */
export function addressLimiter(buckets: Buckets, { prefix, perMinute, refuse }: AddressLimit): RequestLimiter {
  const address = {
    name: `${prefix}address`,
    perMinute,
    keyOf: addressOf,
    refuse: (seconds: number) => refuse(seconds, 'address'),
  };
  const site = {
    name: `${prefix}site`,
    perMinute: perMinute * ADDRESSES_PER_SITE,
    keyOf: siteOf,
    refuse: (seconds: number) => refuse(seconds, 'network'),
  };
  return requestLimiter(buckets, [address, site]);
}

/** The client's /48. An IPv4 address belongs to none. */
function siteOf(req: Request): string | null {
  const site = networkOf(req.ip ?? '');
  return site.includes(':') ? site : null;
}
