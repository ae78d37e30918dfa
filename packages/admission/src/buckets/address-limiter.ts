import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import type { Buckets } from './buckets.js';
import { requestLimiter } from './request-limiter.js';

/** Prefix length of one IPv6 client: a host or household gets a /64, which has 2^64 addresses. */
const HOST_BITS = 64;
/** A site gets a /48 at most, which has 65,536 times the /64 networks of a host. */
const SITE_BITS = 48;
/** The limit of an IPv6 site in multiples of a single address's limit. */
export const ADDRESSES_PER_SITE = 4;

/** Good credentials that a process remembers, the most recently used ones. Bounds memory. */
const CREDENTIALS_KEPT = 10_000;

/** A client's IPv4 address, or its /64 network for IPv6. */
export const peerOf = (address: string): string => ipKeyGenerator(address, HOST_BITS);

/** The same for a request. */
export const addressOf = (req: Request): string => ipKeyGenerator(req.ip ?? '', HOST_BITS);

export interface AddressLimit {
  readonly perMinute: number;
  /** Prefix of the limits' names. */
  readonly prefix: string;
  /** Creates the API's error for an address or its /48. */
  readonly refuse: (retryAfterSeconds: number, whose: 'address' | 'network') => Error;
  /** The stored form of the credential that a request presents, good or not. Null without one. */
  readonly credentialOf: (req: Request) => string | null;
  /** Whether that credential was found good. */
  readonly isGood: (res: Response) => boolean;
}

export interface AddressLimiter {
  /**
   * Charges a request or refuses it. A credential that this process has found good lately passes, so strangers at its address do not
   * lock it out. This is no authentication: the credential must still be checked.
   */
  readonly beforeCheck: RequestHandler;
  /** Runs once the credential was checked: a good one costs its address nothing, and one that is good no longer is charged after all. */
  readonly afterCheck: RequestHandler;
  /** A request without a credential costs its address nothing after all. */
  giveBack(res: Response): void;
}

/**
 * Limits requests per address. IPv6 is limited per /64 and also per /48, because the holder of a /48 has practically
 * unlimited addresses. Only requests without a good credential count.
 */
export function addressLimiter(
  buckets: Buckets,
  { prefix, perMinute, refuse, credentialOf, isGood }: AddressLimit,
): AddressLimiter {
  const good = new LRUCache<string, true>({ max: CREDENTIALS_KEPT });
  const isKnown = (req: Request): boolean => {
    const credential = credentialOf(req);
    return credential !== null && good.get(credential) === true;
  };
  const ofAddress = requestLimiter(buckets, {
    name: `${prefix}address`,
    perMinute,
    keyOf: addressOf,
    skip: isKnown,
    refuse: (seconds) => refuse(seconds, 'address'),
  });
  const ofSite = requestLimiter(buckets, {
    name: `${prefix}site`,
    perMinute: perMinute * ADDRESSES_PER_SITE,
    keyOf: siteOf,
    // An IPv4 address belongs to none.
    skip: (req) => isKnown(req) || !siteOf(req).includes(':'),
    refuse: (seconds) => refuse(seconds, 'network'),
  });
  const check: RequestHandler = (req, res, next) =>
    ofAddress.check(req, res, (error?: unknown) => (error === undefined ? ofSite.check(req, res, next) : next(error)));
  const giveBack = (res: Response): void => {
    ofAddress.giveBack(res);
    ofSite.giveBack(res);
  };
  return {
    giveBack,
    beforeCheck: check,
    afterCheck(req, res, next) {
      const credential = credentialOf(req);
      if (isGood(res)) {
        if (credential !== null) good.set(credential, true);
        giveBack(res);
        next();
      } else if (credential !== null && good.delete(credential)) check(req, res, next);
      else next();
    },
  };
}

/** The client's /48; of an IPv4 address, itself. */
const siteOf = (req: Request): string => ipKeyGenerator(req.ip ?? '', SITE_BITS);
