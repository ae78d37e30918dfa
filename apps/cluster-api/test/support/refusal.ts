import { InvalidBody } from '@corral/contracts';
import { Problem, problemOfBody } from '../../src/problem.js';

/** Code and first pointer of the problem that `work` throws, or of the one for an invalid body. Null when it throws none. */
export function refusalOf(work: () => unknown): readonly [code: string, pointer?: string] | null {
  try {
    work();
    return null;
  } catch (thrown) {
    const error = thrown instanceof InvalidBody ? problemOfBody(thrown) : thrown;
    if (!(error instanceof Problem)) throw error;
    const pointer = error.errors?.[0]?.pointer;
    return pointer === undefined ? [error.code] : [error.code, pointer];
  }
}
