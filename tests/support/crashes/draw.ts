import { randomInt } from 'node:crypto';
import fc from 'fast-check';

/** `CORRAL_CRASH_SEED=…` repeats the choices of a run: the seed of everything that is drawn. */
export const seed = Number(process.env.CORRAL_CRASH_SEED ?? randomInt(1, 1_000_000));
/** `CORRAL_CRASH_MINUTES=30` sets the shortest duration. */
export const minutes = Number(process.env.CORRAL_CRASH_MINUTES ?? 0);

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

/** What a proxy answers in the place of an API. */
export const htmlAnswer = { body: '<html><body>Service Unavailable</body></html>', contentType: 'text/html' };
