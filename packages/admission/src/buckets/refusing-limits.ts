import type { Request, RequestHandler, Response } from 'express';
import {
  type ClientRateLimitInfo,
  ipKeyGenerator,
  type RateLimitInfo,
  rateLimit,
  type Store,
} from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import {
  type BucketRule,
  type Buckets,
  msPerToken,
  perMinute,
  type RuledBucket,
  secondsOf,
  type Taken,
} from './buckets.js';
import { addBudget, clearBudgets, type RequestLimiter, setBudget } from './caller-limiter.js';

interface RequestLimit {
  /** Unique within the installation. Prefix of the buckets' keys. */
  readonly name: string;
  readonly perMinute: number;
  /** Names the bucket that a request is charged to. */
  readonly keyOf: (req: Request, res: Response) => string;
  /** Whether the limit does not concern a request. Default: it concerns all. */
  readonly skip?: (req: Request, res: Response) => boolean;
  /** Creates the API's error for a request that finds the bucket empty. */
  readonly refuse: (retryAfterSeconds: number) => Error;
}

/**
 * A limit of requests that refuses, as an express-rate-limit over token buckets. A fixed window would lock a client out for up to a
 * minute, and many clients give up sooner.
 */
export function requestLimiter(buckets: Buckets, limit: RequestLimit): RequestLimiter {
  const { name, keyOf, refuse, skip = () => false } = limit;
  const rule = perMinute(limit.perMinute);
  const property = `limit:${name}`;
  /** What the library tells of a request, with the time that our store states. Undefined for a request that was not charged. */
  const infoOf = (req: Request) => (req as unknown as Record<string, ChargeInfo | undefined>)[property];
  const store = new BucketStore(buckets, name, rule);
  const limiter = rateLimit({
    windowMs: rule.periodMs,
    limit: rule.capacity,
    store,
    keyGenerator: keyOf,
    skip,
    requestPropertyName: property,
    // The headers follow the DNS API's upstream, which the library does not support: see `addBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    handler(req, res, next) {
      const availableAt = (infoOf(req) as ChargeInfo).resetTime.getTime();
      const resetAt = availableAt + (rule.capacity - 1) * msPerToken(rule);
      setBudget(res, name, { limit: rule.capacity, remaining: 0, resetAt });
      next(refuse(secondsOf(availableAt - Date.now())));
    },
  });
  return {
    check: (req, res, next) =>
      limiter(req, res, (error?: unknown) => {
        const info = infoOf(req);
        if (error === undefined && info !== undefined) {
          addBudget(res, name, { limit: info.limit, remaining: info.remaining, resetAt: info.resetTime.getTime() });
        }
        next(error);
      }),
    giveBack(res) {
      const info = infoOf(res.req);
      if (info === undefined || info.used > info.limit) return;
      Reflect.deleteProperty(res.req, property);
      void store.decrement(info.key);
      const resetAt = info.resetTime.getTime() - msPerToken(rule);
      addBudget(res, name, { limit: info.limit, remaining: info.remaining + 1, resetAt, isFree: true });
    },
  };
}

type ChargeInfo = RateLimitInfo & { readonly resetTime: Date };

/**
 * Keeps the counts of an express-rate-limit in token buckets: a hit is a token in use. Hits thus expire one by one instead of with their
 * window, and a refused request is no hit.
 */
export class BucketStore implements Store {
  /** Other processes may count the same keys. */
  readonly localKeys = false;
  readonly prefix: string;
  readonly #buckets: Buckets;
  readonly #rule: BucketRule;

  /**
   * @param name of the limit, unique within the installation
   * @param rule of its buckets: the limiter's `limit` and `windowMs`
   */
  constructor(buckets: Buckets, name: string, rule: BucketRule) {
    this.prefix = `${name}:`;
    this.#buckets = buckets;
    this.#rule = rule;
  }

  /** `resetTime` is when the bucket is full again; of a request that has to be refused, when the next token is available. */
  async increment(key: string): Promise<ClientRateLimitInfo & { readonly resetTime: Date }> {
    const [taken] = await this.#buckets.take(this.#bucketOf(key));
    const { allowed, remaining, fullInMs, retryInMs } = taken as Taken;
    const { capacity } = this.#rule;
    return {
      totalHits: allowed ? capacity - remaining : capacity + 1,
      resetTime: new Date(Date.now() + (allowed ? fullInMs : retryInMs)),
    };
  }

  async decrement(key: string): Promise<void> {
    await this.#buckets.giveBack(this.#bucketOf(key));
  }

  /** Fills the bucket. */
  async resetKey(key: string): Promise<void> {
    await this.#buckets.giveBack(this.#bucketOf(key), this.#rule.capacity);
  }

  #bucketOf = (key: string): readonly RuledBucket[] => [{ key: this.prefix + key, rule: this.#rule }];
}

/** Prefix length of one IPv6 client: a host or household gets a /64, which has 2^64 addresses. */
const HOST_BITS = 64;
/** A site gets a /48 at most, which has 65,536 times the /64 networks of a host. */
const SITE_BITS = 48;
/** The limit of an IPv6 site in multiples of a single address's limit. */
const ADDRESSES_PER_SITE = 4;

/** Credentials that a process remembers as good or as bad, the most recently used ones. Bounds memory. */
const CREDENTIALS_KEPT = 10_000;
/** A credential that was not good is not looked at again for so long where the limit is used up. */
const BAD_FOR_MS = 60_000;

/** A client's IPv4 address, or its /64 network for IPv6. */
export const peerOf = (address: string): string => ipKeyGenerator(address, HOST_BITS);

/** The same for a request. */
export const addressOf = (req: Request): string => ipKeyGenerator(req.ip ?? '', HOST_BITS);

/** The client's /48; of an IPv4 address, itself. */
export const siteOf = (req: Request): string => ipKeyGenerator(req.ip ?? '', SITE_BITS);

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
   * Charges a request or refuses it. Strangers at an address do not lock out its good credentials: one that this process has found good
   * lately passes, and so does any that was not found bad, until the address has used up its limit with those a second time. This is no
   * authentication: the credential must still be checked.
   */
  readonly beforeCheck: RequestHandler;
  /**
   * Runs once the credential was checked: a good one costs its address nothing, one that is good no longer is charged after all, and a bad
   * one that passed beyond the limit is refused.
   */
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
  /** The limiter of an address and its /48. */
  const limiterOf = (suffix: string, isFree: (req: Request) => boolean): RequestLimiter => {
    const ofAddress = requestLimiter(buckets, {
      name: `${prefix}address${suffix}`,
      perMinute,
      keyOf: addressOf,
      skip: isFree,
      refuse: (seconds) => refuse(seconds, 'address'),
    });
    const ofSite = requestLimiter(buckets, {
      name: `${prefix}site${suffix}`,
      perMinute: perMinute * ADDRESSES_PER_SITE,
      keyOf: siteOf,
      // An IPv4 address belongs to none.
      skip: (req) => isFree(req) || !siteOf(req).includes(':'),
      refuse: (seconds) => refuse(seconds, 'network'),
    });
    return {
      check: (req, res, next) =>
        ofAddress.check(req, res, (error?: unknown) =>
          error === undefined ? ofSite.check(req, res, next) : next(error),
        ),
      giveBack(res) {
        ofAddress.giveBack(res);
        ofSite.giveBack(res);
      },
    };
  };
  const requests = limiterOf('', isKnown);
  // Each look at a credential costs a query, so it has a limit, too.
  const looks = limiterOf('-looks', () => false);
  const bad = new LRUCache<string, true>({ max: CREDENTIALS_KEPT, ttl: BAD_FOR_MS });
  /** Requests that passed beyond the limit, with their refusal if the credential is not good. */
  const lookedAt = new WeakMap<Response, unknown>();
  const check: RequestHandler = (req, res, next) =>
    requests.check(req, res, (refusal?: unknown) => {
      const credential = credentialOf(req);
      if (refusal === undefined || credential === null || bad.has(credential)) return next(refusal);
      looks.check(req, res, (error?: unknown) => {
        if (error !== undefined) return next(refusal);
        lookedAt.set(res, refusal);
        next();
      });
    });
  return {
    giveBack: requests.giveBack,
    beforeCheck: check,
    afterCheck(req, res, next) {
      const credential = credentialOf(req);
      if (isGood(res)) {
        if (credential !== null) good.set(credential, true);
        requests.giveBack(res);
        if (lookedAt.has(res)) {
          looks.giveBack(res);
          clearBudgets(res);
        }
        next();
        return;
      }
      const wasGood = credential !== null && good.delete(credential);
      if (credential !== null) bad.set(credential, true);
      if (lookedAt.has(res)) next(lookedAt.get(res));
      else if (wasGood) requests.check(req, res, next);
      else next();
    },
  };
}
