/**
 * The one Jest set-up, for the tests of all packages in one run: its workers load the product once and then go through the
 * files. Packages are imported as built (`dist`); apps, and what a package tests of itself, from their sources.
 */
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

export default {
  rootDir: here('../..'),
  runtime: here('native-runtime.cjs'),
  testEnvironment: here('native-environment.cjs'),
  testSequencer: here('sequencer.mjs'),
  testMatch: [
    ...['**/src/**/*.test.ts', '**/test/**/*.test.ts', '**/tests/system/**/*.test.ts'],
    // What takes too long for every day: `npm run test:long`.
    ...(process.env.CORRAL_TEST_LONG === undefined ? [] : ['**/tests/long/**/*.test.ts']),
  ],
  modulePathIgnorePatterns: ['/dist/'],
  // The native runtime loads TypeScript by itself.
  transform: {},
  // A bound for what hangs. Nothing here measures time: a loaded machine must not fail a test.
  testTimeout: 240_000,
  // A worker that has nothing left to do still has to be taken down, engines and all. What is left open shows all the same.
  workerGracefulExitTimeout: 15_000,
};
