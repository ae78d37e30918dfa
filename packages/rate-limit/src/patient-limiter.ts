import type { RequestHandler, Response } from 'express';
import type { Buckets } from './buckets.js';
import { bucketLimiter, inOrder, type RequestLimit, type RequestLimiter, refusalOf } from './request-limiter.js';
import type { KeyedSemaphore, WaitingLines } from './waiting-lines.js';

export interface PatientLimiterOptions {
  readonly buckets: Buckets;
  readonly lines: WaitingLines;
  readonly places: KeyedSemaphore;
  /** A request needs a token of each. They are reported in this order. */
  readonly limits: readonly RequestLimit[];
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
  const limiters = limits.map((limit) => ({ limit, ...bucketLimiter(buckets, limit, patienceMs) }));
  const giveBack = (res: Response): void => {
    for (const { takeBack } of limiters) takeBack(res);
  };

  const waitForTokens: RequestHandler = async (_req, res, next) => {
    const waits = limiters.flatMap(({ limit, chargeOf }) => {
      const charge = chargeOf(res);
      return charge !== null && charge.resetTime.waitMs > 0 ? [{ limit, charge }] : [];
    });
    if (waits.length === 0) return next();
    const leavePlace = places.tryAcquire(options.placeOf(res));
    if (leavePlace === null) {
      const [longest] = waits.sort((one, other) => other.charge.resetTime.waitMs - one.charge.resetTime.waitMs);
      return next(longest && refusalOf(res, longest.limit, longest.charge));
    }
    const gone = options.goneOf(res);
    const countAgain = options.setAside(res);
    const keyOf = ({ limit, charge }: (typeof waits)[number]) => `${limit.name}:${charge.key}`;
    const turns = await Promise.all(waits.map((each) => lines.wait(keyOf(each), each.charge.resetTime.waitMs, gone)));
    leavePlace();
    countAgain();
    if (turns.every(Boolean) && !gone.aborted) next();
    // The client has disconnected.
    else giveBack(res);
  };
  const check = inOrder(...limiters.map((limiter) => limiter.check), waitForTokens);

  return {
    check: (req, res, next) =>
      check(req, res, (error?: unknown) => {
        if (error !== undefined) giveBack(res);
        next(error);
      }),
    giveBack,
  };
}
