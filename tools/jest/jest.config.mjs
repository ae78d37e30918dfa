/**
 * The one Jest set-up, for the tests of all packages in one run. Packages are imported as built (`dist`); apps, and what a package
 * tests of itself, from their sources.
 */
import { fileURLToPath } from 'node:url';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** `npm run test:long` also runs what takes too long for every day. */
const isLong = process.env.CORRAL_TEST_LONG !== undefined;

export default {
  rootDir: here('../..'),
  testEnvironment: here('environment.mjs'),
  testSequencer: here('sequencer.mjs'),
  testMatch: [
    ...['**/src/**/*.test.ts', '**/test/**/*.test.ts', '**/tests/system/**/*.test.ts'],
    ...(isLong ? ['**/tests/long/**/*.test.ts'] : []),
  ],
  testPathIgnorePatterns: ['/node_modules/', ...(isLong ? [] : ['/test/long/'])],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  // `./x.js` in TypeScript means `./x.ts` where that is what there is.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { swcrc: false, sourceMaps: true, jsc: { parser: { syntax: 'typescript' }, target: 'es2024' } },
    ],
  },
  // A bound for what hangs. Nothing here measures time: a loaded machine must not fail a test.
  testTimeout: 240_000,
  // A worker that has nothing left to do still has to be taken down, engines and all. What is left open shows all the same.
  workerGracefulExitTimeout: 15_000,
};
