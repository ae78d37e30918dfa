import { dnsCallerOf, findDnsCaller } from '@corral/auth';
import { addressOf, type Buckets, requestLimiter } from '@corral/rate-limit';
import type { RequestHandler } from 'express';
import { DnsError } from '../dns-error.js';

export interface RateLimits {
  readonly perAddressPerMinute: number;
  readonly perTokenPerMinute: number;
  readonly perTeamPerMinute: number;
}

/** The three request limits, in the order in which a request meets them. */
export function requestLimits(buckets: Buckets, limits: RateLimits) {
  return {
    /** Before the token is looked at. */
    perAddress: requestLimiter({
      buckets,
      perMinute: limits.perAddressPerMinute,
      keyOf: (req) => `address:${addressOf(req)}`,
      refuse: refusal('Too many requests from this address. Send the request again after a moment.'),
    }),
    perToken: unlessNobody(
      requestLimiter({
        buckets,
        perMinute: limits.perTokenPerMinute,
        keyOf: (_req, res) => `token:${dnsCallerOf(res).tokenId}`,
        refuse: refusal('Too many requests with this token. Send the request again after a moment.'),
      }),
    ),
    perTeam: unlessNobody(
      requestLimiter({
        buckets,
        perMinute: limits.perTeamPerMinute,
        keyOf: (_req, res) => `team:${dnsCallerOf(res).accountId}`,
        refuse: refusal('Too many requests of this team. Send the request again after a moment.'),
      }),
    ),
  };
}

/** A request without a token has only its address to be counted by. */
function unlessNobody(limit: RequestHandler): RequestHandler {
  return (req, res, next) => (findDnsCaller(res) === null ? next() : limit(req, res, next));
}

const refusal = (sentence: string) => (retryAfterSeconds: number) =>
  new DnsError('rate_limit_exceeded', sentence, { retryAfterSeconds });
