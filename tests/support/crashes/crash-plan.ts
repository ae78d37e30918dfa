import { randomInt } from 'node:crypto';
import fc from 'fast-check';

export interface CrashPlan {
  /** The seed of everything that is drawn. */
  readonly seed: number;
  /** The shortest time. */
  readonly minutes: number;
}

/** `CORRAL_CRASH_SEED=…` repeats the choices of a run. `CORRAL_CRASH_MINUTES=30` sets its duration. */
export const readCrashPlan = ({ minutes }: Pick<CrashPlan, 'minutes'>): CrashPlan => ({
  seed: Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000)),
  minutes: Number(process.env.CORRAL_CRASH_MINUTES ?? minutes),
});

/** Draws as many values as asked for. The same seed always gives the same values. */
export function drawer<T>(arbitrary: fc.Arbitrary<T>, seed: number): () => T {
  let drawn: T[] = [];
  let block = 0;
  return () => {
    if (drawn.length === 0) {
      drawn = fc.sample(arbitrary, { seed: seed + block * 1_000, numRuns: 200 });
      block += 1;
    }
    return drawn.pop() as T;
  };
}
