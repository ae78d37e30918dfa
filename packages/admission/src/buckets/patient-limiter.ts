import type { NextFunction, Response } from 'express';
import type { Buckets } from './buckets.js';
import { type CallerLimit, type Charge, chargeSheet, refusalOf } from './caller-limiter.js';
import type { RequestLimiter } from './request-limiter.js';
import type { KeyedSemaphore, WaitingLines } from './waiting-lines.js';

export interface PatientLimiterOptions {
  readonly buckets: Buckets;
  readonly lines: WaitingLines;
  readonly places: KeyedSemaphore;
  /** A request needs a token of each. They are reported in this order. */
  readonly limits: readonly CallerLimit[];
  /** Key whose waiting places the client's requests take. */
  readonly placeOf: (res: Response) => string;
  /** Maximum wait for a token, in ms. */
  readonly patienceMs: number;
  /** Aborted when the client disconnects. */
  readonly goneOf: (res: Response) => AbortSignal;
  /** Does not count a request as work in flight while it waits. @returns counts it again */
  readonly setAside: (res: Response) => () => void;
}

/**
 * Request limits for requests that wait rather than fail: a missing token is promised, and the request continues when
 * it is available. Its body is not read until then. A token that cannot be promised in time is refused immediately.
 */
export function patientLimiter(options: PatientLimiterOptions): RequestLimiter {
  const { buckets, limits, patienceMs, lines, places } = options;
  const { charge, chargesOf, takeBack } = chargeSheet(buckets, limits, patienceMs);

  const waitInLine = async (waits: readonly Charge[], res: Response, next: NextFunction): Promise<void> => {
    const leavePlace = places.tryAcquire(options.placeOf(res));
    if (leavePlace === null) {
      const [longest] = waits.toSorted((one, other) => other.taken.waitMs - one.taken.waitMs);
      takeBack(res);
      return next(refusalOf(res, longest as Charge));
    }
    const gone = options.goneOf(res);
    const countAgain = options.setAside(res);
    const turns = await Promise.all(waits.map(({ bucket, taken }) => lines.wait(bucket, taken.waitMs, gone)));
    leavePlace();
    countAgain();
    if (turns.every(Boolean) && !gone.aborted) next();
    // The client has disconnected.
    else takeBack(res);
  };

  return {
    async check(req, res, next) {
      const refused = await charge(req, res);
      if (refused !== null) {
        takeBack(res);
        return next(refusalOf(res, refused));
      }
      const waits = chargesOf(res).filter(({ taken }) => taken.waitMs > 0);
      if (waits.length === 0) next();
      else await waitInLine(waits, res, next);
    },
    giveBack: (res) => void takeBack(res),
  };
}
