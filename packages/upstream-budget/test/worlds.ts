import { type Arrival, seededRandom } from './simulate.js';

export const HOUR_MS = 3_600_000;

/** Independent requests of a team at random replicas. */
export function steadyArrivals(of: {
  readonly team: string;
  readonly perHour: number;
  readonly untilMs: number;
  readonly replicas: readonly number[];
  readonly seed: number;
}): Arrival[] {
  const random = seededRandom(of.seed);
  const arrivals: Arrival[] = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) * HOUR_MS) / of.perHour;
    if (at >= of.untilMs) return arrivals;
    const replica = of.replicas[Math.floor(random() * of.replicas.length)] as number;
    arrivals.push({ at: Math.round(at), team: of.team, replica });
  }
}

/** The p-th part of the values is at most this. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? 0;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
