export interface BackoffRange {
  readonly firstMs: number;
  readonly maxMs: number;
}

const DAY_MS = 86_400_000;

/** How long to wait after the next failure. Doubles with each one in a row before it, up to `maxMs`. */
export function backoffMs(failuresBefore: number, { firstMs, maxMs }: BackoffRange): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failuresBefore, 20));
}

/**
 * Up to a fifth more: what failed together does not come back together.
 *
 * @param random from 0 to 1
 */
export const spreadMs = (ms: number, random: number): number => ms * (1 + random / 5);

/**
 * About a day, so that what was begun together is not looked at together for ever.
 *
 * @param random from 0 to 1
 */
export const aboutADayMs = (random: number): number => DAY_MS * (0.9 + 0.2 * random);
