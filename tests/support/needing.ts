import { describe } from '@jest/globals';

/**
 * A group of tests that needs something which not every machine has. Where it is missing, one line says so and the tests
 * count as skipped.
 *
 * @param missing why it cannot run here; null when it can
 */
export function describeNeeding(missing: string | null, title: string, tests: () => void): void {
  if (missing !== null) process.stderr.write(`Skipped: ${title}: ${missing}.\n`);
  (missing === null ? describe : describe.skip)(title, tests);
}
