import { peerOf } from '@corral/service';
import type { Request } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import type { Buckets } from './buckets.js';
import { type RequestLimit, type RequestLimiter, requestLimiter } from './request-limiter.js';

/** A site gets a /48 at most, which is 65,536 times what a host gets. */
const SITE_BITS = 48;
/** A site of IPv6 may do as much as so many single addresses. */
export const ADDRESSES_PER_SITE = 4;

/** The address of a client, as far as one client can be told from another by it. */
export const addressOf = (req: Request): string => peerOf(req.ip ?? '');

export interface AddressLimit extends Pick<RequestLimit, 'perMinute'> {
  /** Before the key of each bucket. */
  readonly prefix: string;
  /** Makes the API's own error, of an address or of its /48. */
  readonly refuse: (retryAfterSeconds: number, whose: 'address' | 'network') => Error;
}

/**
 * A limit per address: of IPv6 per /64, and beside it per /48, for who holds that has addresses without an end. A request
 * that turns out to be somebody's is given its charge back; what is left counts attempts.
 */
export function addressLimiter(buckets: Buckets, { prefix, perMinute, refuse }: AddressLimit): RequestLimiter {
  const address = requestLimiter(buckets, {
    perMinute,
    keyOf: (req) => `${prefix}address:${addressOf(req)}`,
    refuse: (seconds) => refuse(seconds, 'address'),
  });
  const site = requestLimiter(buckets, {
    perMinute: perMinute * ADDRESSES_PER_SITE,
    keyOf: (req) => `${prefix}site:${siteOf(req)}`,
    refuse: (seconds) => refuse(seconds, 'network'),
  });
  return {
    check: (req, res, next) =>
      address.check(req, res, (error?: unknown) => {
        if (error !== undefined || siteOf(req) === null) next(error);
        else site.check(req, res, next);
      }),
    giveBack(res) {
      address.giveBack(res);
      site.giveBack(res);
    },
  };
}

/** Null for IPv4. */
function siteOf(req: Request): string | null {
  const site = ipKeyGenerator(req.ip ?? '', SITE_BITS);
  return site.includes(':') ? site : null;
}
