/**
 * What is known of the test file that runs in this process. The environment of tests (`tools/jest`) makes it, and it is the
 * same for all copies of this package that a process may have loaded.
 */
export type TestFile = {
  path: string;
  /** How many tests the file has registered so far. */
  testsAdded: number;
  explanations: Set<Explanation>;
  processes: KnownProcess[];
};

export type Explanation = { title: string; explain(): string | Promise<string> };
/** `output` gives all that it has written so far. */
export type KnownProcess = { name: string; output(): string };

const PLACE = Symbol.for('corral.test.file');

/** @returns undefined outside of tests: `tools/` start servers and processes as well */
export const currentTestFile = (): TestFile | undefined => (globalThis as { [PLACE]?: TestFile })[PLACE];

/** The folder where a run leaves what is to be read afterwards; undefined when Jest was not started by `npm test`. */
export const resultsDir = (env: NodeJS.ProcessEnv = process.env): string | undefined => env.CORRAL_TEST_RESULTS_DIR;
