import fc from 'fast-check';

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
