/**
 * The one Jest set-up: native ES modules, TypeScript through swc. Every package's jest.config.mjs re-exports it.
 * Packages are imported as built (`dist`), which turbo makes before it runs a package's tests.
 */
export default {
  testEnvironment: 'node',
  // A bound for what hangs. Nothing here measures time: a loaded machine must not fail a test.
  testTimeout: 30_000,
  roots: ['<rootDir>'],
  testMatch: ['<rootDir>/src/**/*.test.ts', '<rootDir>/test/**/*.test.ts', '<rootDir>/system/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
    ],
  },
};
