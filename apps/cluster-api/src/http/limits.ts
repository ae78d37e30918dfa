import {
  addressLimiter,
  addressOf,
  type Buckets,
  callerLimiter,
  outside,
  places,
  requestLimiter,
} from '@corral/admission';
import type { TeamId } from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import type { OperationWaitLimits, RateLimits } from '../app-config.js';
import type { Caller } from '../changes/caller.js';
import { Problem } from '../problem.js';
import { accountOf, credentialHashOf, sessionOf } from './caller.js';

type KeyOf = (req: Request, res: Response) => string;

/** The request limits, in the order in which they apply. */
export function requestLimits(buckets: Buckets, limits: RateLimits) {
  const perAddress = addressLimiter(buckets, {
    prefix: 'cluster-api/',
    perMinute: limits.perAddressPerMinute,
    refuse: (seconds, whose) =>
      refusal(`Too many requests from this ${whose}. Try again after the time in Retry-After.`)(seconds),
    credentialOf: credentialHashOf,
    isGood: (res) => callerIdOf(res) !== null,
  });
  const perPerson = callerLimiter(buckets, [
    {
      name: 'cluster-api/person',
      perMinute: (res) => accountOf(res)?.requestsMax ?? limits.perPersonPerMinute,
      keyOf: (_req, res) => callerIdOf(res),
      refuse: refusal('Too many requests of this person or service account. Try again after the time in Retry-After.'),
    },
  ]);
  const ofSignIns = (name: string, what: string, keyOf: KeyOf) =>
    requestLimiter(buckets, {
      name: `cluster-api/${name}`,
      perMinute: limits.signInRequestsPerAddressPerMinute,
      keyOf,
      refuse: refusal(`Too many ${what} from this address. Try again after the time in Retry-After.`),
    });
  const ofDevices = (name: string, perMinute: number, what: string, keyOf: KeyOf = addressOf) =>
    requestLimiter(buckets, {
      name: `cluster-api/${name}`,
      perMinute,
      keyOf,
      refuse: refusal(`Too many ${what}. Try again after the time in Retry-After.`),
    });
  const { devices } = limits;
  const userCodes = [
    ofDevices('user-code-address', devices.wrongCodesPerAddress, 'wrong codes from this address'),
    ofDevices(
      'user-code-person',
      devices.wrongCodesPerPerson,
      'wrong codes of this person',
      (_req, res) => sessionOf(res)?.userId ?? '',
    ),
  ];
  const tokens = ofSignIns('token', 'token requests', addressOf);
  return {
    /** Runs before the session or token is looked up. See `AddressLimiter.beforeCheck`. */
    perAddress: perAddress.beforeCheck,
    /**
     * It adds to the first, because each of these requests may call the identity provider. Runs once the caller is looked up: who is
     * signed in does not keep others of the address from signing in.
     */
    signInPerAddress: ofSignIns('sign-in', 'sign-ins', (req, res) => callerIdOf(res) ?? addressOf(req)).check,
    /** Counted apart, so that a pipeline does not keep the people of its network from signing in. */
    tokensPerAddress: tokens.check,
    devicesPerAddress: ofDevices('device', devices.signInsPerAddress, 'sign-ins without a browser from this address')
      .check,
    /** Codes are short, and must not be guessed. Without a session nobody can try one. */
    userCodes: userCodes.map(
      ({ check }): RequestHandler =>
        (req, res, next) =>
          sessionOf(res) === null ? next() : check(req, res, next),
    ),
    forgiveUserCode(res: Response): void {
      for (const limit of userCodes) limit.giveBack(res);
    },
    /** A token request that succeeded counts against what it got a token of. */
    forgiveTokenRequest(res: Response): void {
      perAddress.giveBack(res);
      tokens.giveBack(res);
    },
    /** Runs once the caller is looked up. A request with a session or a token counts against that only. */
    settleAddress: perAddress.afterCheck,
    /** Limits requests that have a session or the token of a service account. */
    perPerson: perPerson.check,
  };
}

export type RequestLimits = ReturnType<typeof requestLimits>;

/** All sessions of a person share the limits, as do all tokens of an account. */
const callerIdOf = (res: Response): string | null => accountOf(res)?.id ?? sessionOf(res)?.userId ?? null;

const refusal = (sentence: string) => (retryAfterSeconds: number) =>
  new Problem('rate_limit_exceeded', sentence, { retryAfterSeconds });

/** Work of this kind ends within seconds. */
const CONCURRENT_RETRY_SECONDS = 10;

/** A team takes at most this part of what a process has. */
const shareOfTeam = (perProcess: number): number => Math.max(1, Math.floor(perProcess / 4));

export interface ConcurrencyLimits {
  readonly perTeam: number;
  readonly perProcess: number;
}

/**
 * Limits long-running work: at most `max` concurrent pieces per key. Further requests are refused with a retry time.
 *
 * @param what in the plural, for the refusal
 */
export function concurrencyLimit(max: number, what: string) {
  const slots = places(max);
  /** @throws Problem `rate_limit_exceeded` */
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const leave = slots.take(key);
    if (leave === null) {
      const detail = `${what}: the limit is ${max} at the same time. Wait until one has finished.`;
      throw new Problem('rate_limit_exceeded', detail, { retryAfterSeconds: CONCURRENT_RETRY_SECONDS });
    }
    try {
      return await work();
    } finally {
      leave();
    }
  };
}

/**
 * The same for work of teams. No team takes more than a quarter of the process's limit.
 *
 * @param what in the plural, for the refusal
 */
export function teamConcurrencyLimit({ perTeam, perProcess }: ConcurrencyLimits, what: string) {
  const ofTeam = concurrencyLimit(Math.min(perTeam, shareOfTeam(perProcess)), `${what} of the team`);
  const ofProcess = concurrencyLimit(perProcess, `${what} of this replica`);
  /** @throws Problem `rate_limit_exceeded` */
  return <T>(teamId: TeamId, work: () => Promise<T>): Promise<T> => ofTeam(teamId, () => ofProcess('', work));
}

/** Bounds the requests that wait for operations at the same time. */
export function operationWaitRoom({ perCaller, perTeam, perProcess }: OperationWaitLimits) {
  const ofCaller = places(perCaller);
  const ofTeam = places(Math.min(perTeam, shareOfTeam(perProcess)));
  const ofProcess = places(perProcess);
  /** @returns what the wait returns; null, at once, when the caller, the team or the process has no place left */
  return async <T>({ scope, team, account, userId }: Caller, wait: () => Promise<T>): Promise<T | null> => {
    const taken: (() => void)[] = [];
    const takes = [
      () => ofCaller.take(account?.id ?? userId ?? ''),
      () => ofTeam.take(team.id),
      () => ofProcess.take(''),
    ];
    try {
      for (const take of takes) {
        const giveBack = take();
        if (giveBack === null) return null;
        taken.push(giveBack);
      }
      return await outside(scope, wait);
    } finally {
      for (const giveBack of taken) giveBack();
    }
  };
}
