import { Problem } from '../../src/problem.js';

/** Code and pointer of the problem that `work` throws. Null when it throws none. */
export function refusalOf(work: () => unknown): readonly [code: string, pointer?: string] | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const pointer = error.errors?.[0]?.pointer;
    return pointer === undefined ? [error.code] : [error.code, pointer];
  }
}
