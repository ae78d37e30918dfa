import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentTestFile, resultsDir } from './test-file.js';

/** What a machine lacks. `npm test` makes one line of it: `skipped: 6 tests need <what>: <how>.` */
export type Missing = {
  /** With its article where it has one: "the hcloud CLI". */
  what: string;
  /** How to make its tests run: "put hcloud on PATH". */
  how: string;
  /** Why it could not be made here, where that is not plain from `how`. */
  why?: string;
  /** Whether so few machines have it that its tests do not even count as skipped. */
  isRare?: boolean;
};

/** A line of the file in which a run notes what it skips. */
export type SkipNote = Missing & {
  tests: number;
  /** Tests that ran, with less to look at. */
  lesser: number;
};

/** Below the folder of results. */
export const SKIP_NOTES_FILE = 'skipped.jsonl';

type Describe = ((title: string, tests: () => void) => void) & {
  skip: (title: string, tests: () => void) => void;
};

/**
 * A group of tests that needs something which not every machine has. Where it is missing the tests are skipped, and `npm
 * test` says at its end how to make them run.
 *
 * @param describe Jest's
 * @param missing null when the tests can run
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
 * The same tests for each of some cases, any of which may lack something.
 *
 * @param title `$name` in it stands for that property of a case
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

/** For a test that runs in any case, and shows less where something is missing. */
export function showsLessWithout(missing: Missing | null): void {
  if (missing !== null) note({ ...missing, tests: 0, lesser: 1 });
}

/** @returns what it is given, unless the command can be run and ends with 0 */
export const unlessInstalled = ([command = '', ...args]: readonly string[], missing: Missing): Missing | null =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? null : missing;

/** A single short write at the end of the file, as other workers write to it, too. */
function note(skip: SkipNote): void {
  const folder = resultsDir();
  if (folder !== undefined) appendFileSync(join(folder, SKIP_NOTES_FILE), `${JSON.stringify(skip)}\n`);
}
