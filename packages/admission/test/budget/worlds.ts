import { type Arrival, seededRandom } from './simulate.js';

export const HOUR_MS = 3_600_000;

/** Requests of a team at random replicas: independent of each other, or evenly from a random time on. */
export function steadyArrivals(of: {
  readonly team: string;
  readonly perHour: number;
  readonly untilMs: number;
  readonly replicas: readonly number[];
  readonly seed: number;
  readonly isEven?: boolean;
}): Arrival[] {
  const random = seededRandom(of.seed);
  const arrivals: Arrival[] = [];
  const meanMs = HOUR_MS / of.perHour;
  for (let at = of.isEven === true ? (random() - 1) * meanMs : 0; ; ) {
    at += of.isEven === true ? meanMs : -Math.log(1 - random()) * meanMs;
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
