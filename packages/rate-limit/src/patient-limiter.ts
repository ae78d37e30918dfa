import type { Response } from 'express';
import type { Buckets } from './buckets.js';
import { budgetOf, tellBudget } from './budget-headers.js';
import { type RequestLimit, type RequestLimiter, refusalOf, ruleOf } from './request-limiter.js';
import type { Taken } from './token-bucket.js';
import type { PlacesPerKey, WaitingLines } from './waiting-lines.js';

export interface PatientLimiterOptions {
  readonly buckets: Buckets;
  readonly lines: WaitingLines;
  readonly places: PlacesPerKey;
  /** A request needs a token of each. They are reported in this order. */
  readonly limits: readonly RequestLimit[];
  /** Key whose waiting places the client's requests take. */
  readonly placeOf: (res: Response) => string;
  /** How much longer a request may wait, in ms. */
  readonly leftMs: (res: Response) => number;
  /** Aborted when the client disconnects. */
  readonly goneOf: (res: Response) => AbortSignal;
  /** Does not count a request as work in flight while it waits. @returns counts it again */
  readonly setAside: (res: Response) => () => void;
}

interface Charge {
  readonly limit: RequestLimit;
  readonly key: string;
  readonly taken: Taken;
}

/**
 * Request limits for requests that wait rather than fail: a missing token is promised, and the request continues when
 * it is available. Its body is not read until then. A token that cannot be promised in time is refused at once.
 */
export function patientLimiter(options: PatientLimiterOptions): RequestLimiter {
  const { buckets, limits } = options;
  const charged = new WeakMap<Response, readonly Charge[]>();

  const giveBack = (res: Response): void => {
    for (const { limit, key } of charged.get(res) ?? []) {
      void Promise.resolve(buckets.giveBack(key, ruleOf(limit))).catch(() => undefined);
    }
    charged.delete(res);
  };

  return {
    async check(req, res, next) {
      const charges: Charge[] = [];
      charged.set(res, charges);
      for (const limit of limits) {
        const key = limit.keyOf(req, res);
        const taken = await buckets.take(key, ruleOf(limit), options.leftMs(res));
        if (!taken.allowed) {
          giveBack(res);
          throw refusalOf(res, limit, { key, taken });
        }
        charges.push({ limit, key, taken });
        tellBudget(res, key, budgetOf(limit.perMinute, taken));
      }
      const waits = charges.filter(({ taken }) => taken.waitMs > 0);
      if (waits.length === 0) return next();
      const leavePlace = options.places.enter(options.placeOf(res));
      if (leavePlace === null) {
        giveBack(res);
        const [longest] = waits.sort((one, other) => other.taken.waitMs - one.taken.waitMs) as [Charge];
        throw refusalOf(res, longest.limit, longest);
      }
      const gone = options.goneOf(res);
      const goOn = options.setAside(res);
      const turns = await Promise.all(waits.map(({ key, taken }) => options.lines.wait(key, taken.waitMs, gone)));
      leavePlace();
      goOn();
      if (turns.every(Boolean) && !gone.aborted) next();
      // The client has disconnected.
      else giveBack(res);
    },
    giveBack,
  };
}
