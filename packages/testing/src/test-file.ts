/**
 * State of the test file running in this process. Created by the test environment (`tools/jest`) and shared by all
 * copies of this package in the process.
 */
export type TestFile = {
  path: string;
  /** Number of tests the file has registered so far. */
  testsAdded: number;
  explanations: Set<Explanation>;
  processes: KnownProcess[];
};

export type Explanation = { title: string; explain(): string | Promise<string> };
/** `output` returns everything written so far. */
export type KnownProcess = { name: string; output(): string };

const PLACE = Symbol.for('corral.test.file');

/** @returns undefined outside of tests, since `tools/` start servers and processes as well */
export const currentTestFile = (): TestFile | undefined => (globalThis as { [PLACE]?: TestFile })[PLACE];

/** The folder for the results of a run; undefined when Jest was not started by `npm test`. */
export const resultsDir = (env: NodeJS.ProcessEnv = process.env): string | undefined => env.CORRAL_TEST_RESULTS_DIR;
