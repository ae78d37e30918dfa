import fc from 'fast-check';

/** As many values as are asked for, always the same for a seed. */
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
