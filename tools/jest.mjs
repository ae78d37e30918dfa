/**
 * Runs Jest for the package in the current folder and keeps its result where `npm test` adds the numbers up.
 * Arguments go to Jest: `pnpm --filter @corral/contracts test names`.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { status } = spawnSync(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings',
    require.resolve('jest/bin/jest.js'),
    '--passWithNoTests',
    '--json',
    '--outputFile=test-results/jest.json',
    ...process.argv.slice(2),
  ],
  { stdio: ['inherit', 'ignore', 'inherit'] },
);
process.exit(status ?? 1);
