/** How long to wait after the first failure, and at most. */
export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Exponential backoff: doubles with each failure in a row, up to `maxMs`.
 *
 * @param failuresBefore 0 after the first failure
 */
export function backoffMs(failuresBefore: number, { firstMs, maxMs }: BackoffRange): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failuresBefore, 20));
}

/*
 * Jitter, so that replicas that failed together do not come back together. `random` is from 0 to 1.
 */

/** Full jitter: anything from 0 to the whole backoff. For calls that are cheap to repeat. */
export function fullJitterMs(failuresBefore: number, range: BackoffRange, random = Math.random()): number {
  return random * backoffMs(failuresBefore, range);
}

/** Equal jitter: half of the backoff, and anything up to the other half. For calls that cost something. */
export function equalJitterMs(failuresBefore: number, range: BackoffRange, random = Math.random()): number {
  const full = backoffMs(failuresBefore, range);
  return full / 2 + random * (full / 2);
}

/** Up to a fifth more. For waits that must not be shorter than given. */
export const spreadMs = (ms: number, random: number): number => ms * (1 + random / 5);

/** A tenth less to a tenth more. For intervals: what was begun together drifts apart. */
export const aroundMs = (ms: number, random: number): number => ms * (0.9 + 0.2 * random);
