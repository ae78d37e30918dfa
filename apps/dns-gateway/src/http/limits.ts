import {
  addressLimiter,
  type Buckets,
  type ChargedBudget,
  type Clock,
  callerLimiter,
  places,
  type RequestLimiter,
  reportedBudget,
} from '@corral/admission';
import { dnsCallerOf, dnsTokenHashOf, findDnsCaller } from '@corral/auth';
import { type DnsRoute, dnsLimits, dnsZoneRoutes } from '@corral/contracts';
import { narrowScopeOf, scopeOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { DnsError } from '../dns-error.js';

/** What the request limits tell apart: writes and reads of one set wait, and reads of actions have a limit of their own. */
type RequestKind = 'write' | 'rrset' | 'action' | 'other';

interface Pattern {
  readonly kind: RequestKind;
  readonly method: string;
  readonly path: RegExp;
}

const patterns: readonly Pattern[] = (dnsZoneRoutes as readonly DnsRoute[]).flatMap((row) => {
  const kind = kindOf(row);
  if (kind === 'other') return [];
  const path = new RegExp(`^${row.path.replaceAll(/\{\w+\}/g, '[^/]+')}/?$`);
  return [{ kind, method: row.method.toUpperCase(), path }];
});

/** Finds out once of what kind a request below `/v1` is, whether it has met its route or not. */
function requestKind(req: Request, { locals }: Response): RequestKind {
  locals.requestKind ??= kindOfPath(req);
  return locals.requestKind as RequestKind;
}

function kindOfPath({ method, path, url }: Request): RequestKind {
  const served = method === 'HEAD' ? 'GET' : method;
  const kind = patterns.find((each) => each.method === served && each.path.test(path))?.kind ?? 'other';
  // A page of all actions is a list as any other.
  return kind === 'action' && !(hasId.test(path) || hasId.test(url)) ? 'other' : kind;
}

const hasId = /\/actions\/|[?&]id=/;

function kindOf({ operationId, kind, path }: DnsRoute): RequestKind {
  if (kind === 'write') return 'write';
  if (operationId === 'getRrset') return 'rrset';
  return /^(\/zones(\/\{zone\})?)?\/actions(\/|$)/.test(path) ? 'action' : 'other';
}

export interface RateLimits {
  readonly perAddressPerMinute: number;
  /** The limits of tokens and teams without limits of their own. */
  readonly perTokenPerMinute: number;
  readonly perTeamPerMinute: number;
  /** The limit of reads of actions that are not held, of tokens whose limit is not higher anyway. */
  readonly actionReadsPerTokenPerMinute: number;
}

interface RequestLimitsDeps {
  readonly buckets: Buckets;
  /** Times the waits for tokens. */
  readonly clock: Clock;
  /** The time for all that a write waits for. */
  readonly writeWaitMs: number;
  /** The same of a read of one record set. */
  readonly readWaitMs: number;
}

export interface RequestLimits {
  /** The limit before the token is looked at, and of pages, for which no token is asked. See `AddressLimiter.beforeCheck`. */
  readonly perAddress: RequestHandler;
  /** Once the token was looked at: see `AddressLimiter.afterCheck`. */
  readonly settleAddress: RequestHandler;
  /**
   * Token and team of a good token. Beyond them writes and reads of one record set wait, other reads are refused. Bounds how long and how
   * often requests of the caller may wait: see `scopeOf`.
   */
  readonly perCaller: RequestHandler;
  /** Undoes every charge of a request that was of no effect. */
  giveBack(res: Response): void;
  /** What is left to the caller after a request that both limits were charged for. */
  leftOf(res: Response): { readonly token: ChargedBudget; readonly team: ChargedBudget };
}

/** The request limits, in the order in which a request meets them. */
export function requestLimits(deps: RequestLimitsDeps, limits: RateLimits): RequestLimits {
  const { buckets, clock, writeWaitMs, readWaitMs } = deps;
  const address = addressLimiter(buckets, {
    prefix: '',
    perMinute: limits.perAddressPerMinute,
    refuse: (seconds, whose) => refusal(`from this ${whose}`)(seconds),
    credentialOf: dnsTokenHashOf,
    isGood: (res) => findDnsCaller(res) !== null,
  });
  const perToken = (res: Response) => dnsCallerOf(res).tokenRequestsMax ?? limits.perTokenPerMinute;
  const tokenLimit = {
    name: 'token',
    perMinute: perToken,
    keyOf: (_req: unknown, res: Response) => dnsCallerOf(res).tokenId,
    refuse: refusal('with this token'),
  };
  const teamLimit = {
    name: 'team',
    perMinute: (res: Response) => dnsCallerOf(res).teamRequestsMax ?? limits.perTeamPerMinute,
    keyOf: (_req: unknown, res: Response) => dnsCallerOf(res).accountId,
    refuse: refusal('of this team'),
  };
  const actionLimit = {
    ...tokenLimit,
    name: 'token-actions',
    perMinute: (res: Response) => Math.max(limits.actionReadsPerTokenPerMinute, perToken(res)),
    refuse: refusal('for actions with this token'),
  };
  const ofCaller = [tokenLimit, teamLimit];
  const patient = (waitMs: number) => callerLimiter(buckets, ofCaller, { waitMs, scopeOf, clock });
  const kinds = {
    write: waits(patient(writeWaitMs), writeWaitMs, dnsLimits.waitingWritesPerToken),
    rrset: waits(patient(readWaitMs), readWaitMs, dnsLimits.waitingReadsPerToken),
    // A read that is held gives its charge back.
    action: waits(callerLimiter(buckets, [actionLimit]), Number.POSITIVE_INFINITY, dnsLimits.heldReadsPerToken),
    other: waits(callerLimiter(buckets, ofCaller), Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
  };
  return {
    perAddress: address.beforeCheck,
    settleAddress: address.afterCheck,
    perCaller(req, res, next) {
      // A request without a good token has only its address to be counted by.
      const caller = findDnsCaller(res);
      if (caller === null) return next();
      const { limiter, waitMs, places } = kinds[requestKind(req, res)];
      narrowScopeOf(res, { deadline: performance.now() + waitMs, waits: { places, key: caller.tokenId } });
      return limiter.check(req, res, next);
    },
    giveBack: (res) => kinds[requestKind(res.req, res)].limiter.giveBack(res),
    leftOf: (res) => ({ token: chargedTo(res, tokenLimit.name), team: chargedTo(res, teamLimit.name) }),
  };
}

/** How long requests of a kind may wait in all, and how many of one token. */
const waits = (limiter: RequestLimiter, waitMs: number, perToken: number) => ({
  limiter,
  waitMs,
  places: places(perToken),
});

function chargedTo(res: Response, name: string): ChargedBudget {
  const budget = reportedBudget(res, name);
  if (budget === null) throw new Error(`The limit of the ${name} was not charged for this request`);
  return budget as ChargedBudget;
}

const refusal = (whose: string) => (retryAfterSeconds: number) =>
  new DnsError(
    'rate_limit_exceeded',
    `Too many requests ${whose}. Send the request again after the time in Retry-After.`,
    {
      retryAfterSeconds,
    },
  );
