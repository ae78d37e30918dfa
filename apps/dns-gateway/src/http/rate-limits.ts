import { dnsCallerOf, findDnsCaller } from '@corral/auth';
import {
  addressLimiter,
  type Buckets,
  type Clock,
  type PlacesPerKey,
  patientLimiter,
  requestLimiter,
  waitingLines,
} from '@corral/rate-limit';
import { clientGone } from '@corral/service';
import type { RequestHandler, Response } from 'express';
import { DnsError } from '../dns-error.js';
import { requestKind } from './request-kind.js';

export interface RateLimits {
  readonly perAddressPerMinute: number;
  readonly perTokenPerMinute: number;
  readonly perTeamPerMinute: number;
}

export interface RequestLimitsDeps {
  readonly buckets: Buckets;
  readonly clock: Clock;
  /** The places of a token's waiting writes. */
  readonly places: PlacesPerKey;
  /** For all that a write waits for. */
  readonly writeWaitMs: number;
}

export interface RequestLimits {
  /** Before the token is looked at: what is left of it counts tokens that are not good. */
  readonly perAddress: RequestHandler;
  /** Token and team, once the token was found good. Reads beyond them are refused, writes wait. */
  readonly perCaller: RequestHandler;
  /** The time on the clock until which a write may wait. */
  deadlineOf(res: Response): number;
  /** Undoes every charge of a request that was of no effect. */
  giveBack(res: Response): void;
}

/** The request limits, in the order in which a request meets them. */
export function requestLimits(deps: RequestLimitsDeps, limits: RateLimits): RequestLimits {
  const { buckets, clock, places, writeWaitMs } = deps;
  const deadlines = new WeakMap<Response, number>();
  const deadlineOf = (res: Response): number => deadlines.get(res) ?? clock.now();
  const perAddress = addressLimiter(buckets, {
    prefix: '',
    perMinute: limits.perAddressPerMinute,
    refuse: (seconds, whose) => refusal(`from this ${whose}`)(seconds),
  });
  const tokenLimit = {
    perMinute: limits.perTokenPerMinute,
    keyOf: (_req: unknown, res: Response) => `token:${dnsCallerOf(res).tokenId}`,
    refuse: refusal('with this token'),
  };
  const teamLimit = {
    perMinute: limits.perTeamPerMinute,
    keyOf: (_req: unknown, res: Response) => `team:${dnsCallerOf(res).accountId}`,
    refuse: refusal('of this team'),
  };
  const [perToken, perTeam] = [requestLimiter(buckets, tokenLimit), requestLimiter(buckets, teamLimit)];
  const perWrite = patientLimiter({
    ...{ buckets, places, lines: waitingLines(clock), limits: [tokenLimit, teamLimit] },
    placeOf: (res) => dnsCallerOf(res).tokenId,
    leftMs: (res) => Math.max(0, deadlineOf(res) - clock.now()),
    goneOf: clientGone,
  });
  return {
    perAddress: perAddress.check,
    perCaller(req, res, next) {
      // A request without a token has only its address to be counted by.
      if (findDnsCaller(res) === null) return next();
      const kind = requestKind(req);
      // What is held for an answer gives its charge back by itself: asking without an end is bounded by the address.
      if (kind === 'action') return next();
      perAddress.giveBack(res);
      if (kind === 'write') {
        deadlines.set(res, clock.now() + writeWaitMs);
        return perWrite.check(req, res, next);
      }
      return perToken.check(req, res, (error?: unknown) => {
        if (error !== undefined) next(error);
        else perTeam.check(req, res, next);
      });
    },
    deadlineOf,
    giveBack(res) {
      for (const limiter of [perAddress, perToken, perTeam, perWrite]) limiter.giveBack(res);
    },
  };
}

const refusal = (whose: string) => (retryAfterSeconds: number) =>
  new DnsError('rate_limit_exceeded', `Too many requests ${whose}. Send the request again after a moment.`, {
    retryAfterSeconds,
  });
