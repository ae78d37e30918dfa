import {
  addressLimiter,
  type Buckets,
  type ChargedBudget,
  type Clock,
  callerLimiter,
  type KeyedSemaphore,
  patientLimiter,
  reportedBudget,
  waitingLines,
} from '@corral/admission';
import { dnsCallerOf, dnsTokenHashOf, findDnsCaller } from '@corral/auth';
import { type DnsRoute, dnsZoneRoutes } from '@corral/contracts';
import { clientGone, setAside } from '@corral/http-api';
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

/** Of a request below `/v1`, whether it has met its route or not. Found out once. */
function requestKind(req: Request, { locals }: Response): RequestKind {
  locals.requestKind ??= kindOfPath(req);
  return locals.requestKind as RequestKind;
}

function kindOfPath({ method, path, url }: Pick<Request, 'method' | 'path' | 'url'>): RequestKind {
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
  /** Of tokens and teams without limits of their own. */
  readonly perTokenPerMinute: number;
  readonly perTeamPerMinute: number;
  /** Of reads of actions that are not held, of tokens whose limit is not higher anyway. */
  readonly actionReadsPerTokenPerMinute: number;
}

interface RequestLimitsDeps {
  readonly buckets: Buckets;
  readonly clock: Clock;
  /** The places of a token's waiting writes. */
  readonly places: KeyedSemaphore;
  /** The places of its waiting reads. */
  readonly readPlaces: KeyedSemaphore;
  /** For all that a write waits for. */
  readonly writeWaitMs: number;
  /** The same of a read of one record set. */
  readonly readWaitMs: number;
}

export interface RequestLimits {
  /** Before the token is looked at, and of pages, for which no token is asked. See `AddressLimiter.beforeCheck`. */
  readonly perAddress: RequestHandler;
  /** Once the token was looked at: see `AddressLimiter.afterCheck`. */
  readonly settleAddress: RequestHandler;
  /** Token and team of a good token. Beyond them writes and reads of one record set wait, other reads are refused. */
  readonly perCaller: RequestHandler;
  /** The time on the clock until which a write may wait. */
  deadlineOf(res: Response): number;
  /** Undoes every charge of a request that was of no effect. */
  giveBack(res: Response): void;
  /** What is left to the caller after a request that both limits were charged for. */
  leftOf(res: Response): { readonly token: ChargedBudget; readonly team: ChargedBudget };
}

/** The request limits, in the order in which a request meets them. */
export function requestLimits(deps: RequestLimitsDeps, limits: RateLimits): RequestLimits {
  const { buckets, clock } = deps;
  const deadlineOf = ({ locals }: Response): number => locals.deadline ?? clock.now();
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
  const ofCaller = [tokenLimit, teamLimit];
  const impatient = callerLimiter(buckets, ofCaller);
  const actions = callerLimiter(buckets, [
    {
      name: 'token-actions',
      perMinute: (res) => Math.max(limits.actionReadsPerTokenPerMinute, perToken(res)),
      keyOf: (_req, res) => dnsCallerOf(res).tokenId,
      refuse: refusal('for actions with this token'),
    },
  ]);
  // One line for both: they wait for the same tokens.
  const lines = waitingLines(clock);
  const patient = (places: KeyedSemaphore, patienceMs: number) =>
    patientLimiter({
      buckets,
      lines,
      places,
      limits: ofCaller,
      placeOf: (res) => dnsCallerOf(res).tokenId,
      patienceMs,
      goneOf: clientGone,
      setAside,
    });
  const patience = {
    write: { limiter: patient(deps.places, deps.writeWaitMs), waitMs: deps.writeWaitMs },
    rrset: { limiter: patient(deps.readPlaces, deps.readWaitMs), waitMs: deps.readWaitMs },
  };
  return {
    perAddress: address.beforeCheck,
    settleAddress: address.afterCheck,
    perCaller(req, res, next) {
      // A request without a good token has only its address to be counted by.
      if (findDnsCaller(res) === null) return next();
      const kind = requestKind(req, res);
      // A read that is held gives its charge back.
      if (kind === 'action') return actions.check(req, res, next);
      if (kind !== 'other') {
        const { limiter, waitMs } = patience[kind];
        res.locals.deadline = clock.now() + waitMs;
        return limiter.check(req, res, next);
      }
      return impatient.check(req, res, next);
    },
    deadlineOf,
    giveBack(res) {
      for (const limiter of [actions, impatient, patience.write.limiter, patience.rrset.limiter]) limiter.giveBack(res);
    },
    leftOf: (res) => ({ token: chargedTo(res, tokenLimit.name), team: chargedTo(res, teamLimit.name) }),
  };
}

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
