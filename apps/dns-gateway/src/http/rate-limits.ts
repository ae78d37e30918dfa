import { dnsCallerOf } from '@corral/auth';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, type RateLimitInfo, rateLimit, type Store } from 'express-rate-limit';
import { DnsError } from '../dns-error.js';
import type { Buckets } from '../limits/buckets.js';
import type { BucketRule } from '../limits/token-bucket.js';

export interface RateLimits {
  readonly perAddressPerMinute: number;
  readonly perTokenPerMinute: number;
  readonly perTeamPerMinute: number;
}

const MINUTE_MS = 60_000;
/** A household or a host gets a /64 of IPv6: whoever holds one holds 2^64 addresses. */
const IPV6_PREFIX_BITS = 64;

/**
 * The three request limits, as token buckets: `n` per minute means a burst of `n` and `n / 60` per second after it.
 * A fixed window would lock a client out for up to a minute, and clients of the upstream give up sooner.
 */
export function requestLimits(buckets: Buckets, limits: RateLimits) {
  return {
    /** Before the token is looked at. */
    perAddress: limiter({
      buckets,
      limit: limits.perAddressPerMinute,
      keyOf: (req) => `address:${ipKeyGenerator(req.ip ?? '', IPV6_PREFIX_BITS)}`,
      sentence: 'Too many requests from this address. Send the request again after a moment.',
    }),
    perToken: limiter({
      buckets,
      limit: limits.perTokenPerMinute,
      keyOf: (_req, res) => `token:${dnsCallerOf(res).tokenId}`,
      sentence: 'Too many requests with this token. Send the request again after a moment.',
    }),
    perTeam: limiter({
      buckets,
      limit: limits.perTeamPerMinute,
      keyOf: (_req, res) => `team:${dnsCallerOf(res).teamId}`,
      sentence: 'Too many requests of this team. Send the request again after a moment.',
    }),
  };
}

interface LimiterOptions {
  readonly buckets: Buckets;
  readonly limit: number;
  readonly keyOf: (req: Request, res: Response) => string;
  readonly sentence: string;
}

function limiter({ buckets, limit, keyOf, sentence }: LimiterOptions): RequestHandler {
  const rule = { capacity: limit, periodMs: MINUTE_MS };
  const middleware = rateLimit({
    windowMs: MINUTE_MS,
    limit,
    store: bucketStore(buckets, rule),
    keyGenerator: keyOf,
    // The headers have the upstream's meaning, which is none of this library's: see `stateBudget`.
    standardHeaders: false,
    legacyHeaders: false,
    requestPropertyName: INFO,
    validate: false,
    handler: (req, res) => {
      const info = infoOf(req);
      stateBudget(res, info);
      const retryAfterSeconds = Math.max(1, Math.ceil((emptyForMs(info, rule) ?? 1_000) / 1_000));
      throw new DnsError('rate_limit_exceeded', sentence, { retryAfterSeconds });
    },
  });
  return (req, res, next) =>
    middleware(req, res, (error?: unknown) => {
      if (error === undefined) stateBudget(res, infoOf(req));
      next(error);
    });
}

const INFO = 'requestLimit';

function infoOf(req: Request): RateLimitInfo {
  return (req as Request & { [INFO]: RateLimitInfo })[INFO];
}

/** express-rate-limit counts hits in a window; a bucket says the same in those words: hits are tokens that are gone. */
function bucketStore(buckets: Buckets, rule: BucketRule): Store {
  return {
    localKeys: false,
    increment: async (key) => {
      const taken = await buckets.take(key, rule);
      return {
        totalHits: taken.allowed ? rule.capacity - taken.remaining : rule.capacity + 1,
        resetTime: new Date(Date.now() + taken.fullInMs),
      };
    },
    decrement: () => undefined,
    resetKey: () => undefined,
  };
}

/** Of a bucket only the time of fullness is told; a bucket fills evenly, so its first token comes that much sooner. */
function emptyForMs({ resetTime }: RateLimitInfo, { capacity, periodMs }: BucketRule): number | null {
  if (resetTime === undefined) return null;
  return resetTime.getTime() - Date.now() - ((capacity - 1) * periodMs) / capacity;
}

/**
 * Tells the caller's own budget in the upstream's meaning: the size of the bucket, what is left, and the Unix time at
 * which it is full again. Of two limits the one that is nearer to its end is told.
 */
function stateBudget(res: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  const told = res.getHeader('RateLimit-Remaining');
  if (told !== undefined && Number(told) <= remaining) return;
  res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  if (resetTime !== undefined) res.setHeader('RateLimit-Reset', Math.ceil(resetTime.getTime() / 1_000));
}
