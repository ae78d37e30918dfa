/** A request that is due, whatever became of those before it. */
export interface Arrival {
  /** Milliseconds from the start. */
  readonly atMs: number;
  readonly kind: string;
  /** Number among those of its kind, from 0. */
  readonly number: number;
}

/**
 * The times at which requests of many clients come: each kind at its rate, independently of each other.
 *
 * @param perSecond rates by kind
 * @param random numbers in [0, 1)
 * @returns in the order of time
 */
export function arrivals(
  perSecond: Readonly<Record<string, number>>,
  seconds: number,
  random: () => number = Math.random,
): Arrival[] {
  const all = Object.entries(perSecond).flatMap(([kind, rate]) => {
    const times = Array.from({ length: Math.round(rate * seconds) }, () => random() * seconds * 1_000);
    return times.sort((one, other) => one - other).map((atMs, number) => ({ atMs, kind, number }));
  });
  return all.sort((one, other) => one.atMs - other.atMs);
}

/** The p-th part of the values is at most this. NaN for no values. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}
