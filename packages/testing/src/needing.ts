import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentTestFile, resultsDir } from './test-file.js';

/** Something a machine lacks. `npm test` prints one line for it: `skipped: 6 tests need <what>: <how>.` */
export type Missing = {
  /** The program with its article, if it has one: "the hcloud CLI". */
  what: string;
  /** How to make the tests run: "put hcloud on PATH". */
  how: string;
  /** Why it could not be provided automatically, unless `how` makes that obvious. */
  why?: string;
  /** The program is so rarely available that its tests do not count as skipped. */
  isRare?: boolean;
};

/** A line in the file of skipped tests. */
export type SkipNote = Missing & {
  tests: number;
  /** Number of tests that ran with reduced coverage. */
  lesser: number;
};

/** Relative to the folder of results. */
export const SKIP_NOTES_FILE = 'skipped.jsonl';

type Describe = ((title: string, tests: () => void) => void) & { skip: (title: string, tests: () => void) => void };

/**
 * A group of tests with a requirement that not every machine meets. When it is missing the tests are skipped, and `npm
 * test` prints how to make them run.
 *
 * @param describe Jest's
 * @param missing null when the requirement is met
 */
export function describeNeeding(describe: Describe, missing: Missing | null, title: string, tests: () => void): void {
  if (missing === null) {
    describe(title, tests);
    return;
  }
  const before = currentTestFile()?.testsAdded ?? 0;
  describe.skip(title, tests);
  note({ ...missing, tests: (currentTestFile()?.testsAdded ?? 0) - before, lesser: 0 });
}

/**
 * The same tests for several cases, each with its own requirement.
 *
 * @param title may contain `$name` for a property of the case
 */
export function describeEachNeeding<Case extends { missing: Missing | null }>(
  describe: Describe,
  cases: readonly Case[],
  title: string,
  tests: (given: Case) => void,
): void {
  for (const given of cases) {
    const named = title.replace(/\$(\w+)/g, (_, name: string) => String(given[name as keyof Case]));
    describeNeeding(describe, given.missing, named, () => tests(given));
  }
}

/** Notes that a test runs with reduced coverage, because something is missing. */
export function showsLessWithout(missing: Missing | null): void {
  if (missing !== null) note({ ...missing, tests: 0, lesser: 1 });
}

/** @returns null if the command runs and exits with 0, otherwise `missing` */
export const unlessInstalled = ([command = '', ...args]: readonly string[], missing: Missing): Missing | null =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? null : missing;

/** One short append, because other workers write to the file too. */
function note(skip: SkipNote): void {
  const folder = resultsDir();
  if (folder !== undefined) appendFileSync(join(folder, SKIP_NOTES_FILE), `${JSON.stringify(skip)}\n`);
}
