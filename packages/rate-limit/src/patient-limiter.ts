import { setAside } from '@corral/service';
import type { Response } from 'express';
import type { Buckets } from './buckets.js';
import { type RequestLimit, type RequestLimiter, refusalOf, ruleOf } from './request-limiter.js';
import type { Taken } from './token-bucket.js';
import { budgetOf, tellBudget } from './told-budgets.js';
import type { PlacesPerKey, WaitingLines } from './waiting-lines.js';

export interface PatientLimiterOptions {
  readonly buckets: Buckets;
  readonly lines: WaitingLines;
  readonly places: PlacesPerKey;
  /** All have to have room for a request; told of in this order. */
  readonly limits: readonly RequestLimit[];
  /** Whose places the waiting requests of a client take. */
  readonly placeOf: (res: Response) => string;
  /** How much longer a request may wait. */
  readonly leftMs: (res: Response) => number;
  /** Aborted when the client goes away. */
  readonly goneOf: (res: Response) => AbortSignal;
}

interface Charge {
  readonly limit: RequestLimit;
  readonly key: string;
  readonly taken: Taken;
}

/**
 * Request limits for what waits rather than to be refused: a token that is not there yet is promised, and the request
 * goes on when it is. Nothing of its body is read until then. What cannot be promised in time is refused at once.
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
      const goOn = setAside(res);
      const turns = await Promise.all(waits.map(({ key, taken }) => options.lines.wait(key, taken.waitMs, gone)));
      leavePlace();
      goOn();
      if (turns.every(Boolean) && !gone.aborted) next();
      // Nobody is there to be answered.
      else giveBack(res);
    },
    giveBack,
  };
}
