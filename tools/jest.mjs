/**
 * Runs Jest for the package in the current folder and keeps its result where `npm test` adds the numbers up.
 * Arguments go to Jest: `pnpm --filter @corral/contracts test names`.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const runDir = mkdtempSync(join(tmpdir(), 'corral-test-run-')); // where this run's test files share a Postgres
process.on('exit', () => rmSync(runDir, { recursive: true, force: true }));

rmSync('test-results', { recursive: true, force: true }); // a run that dies must not show an older one's numbers
mkdirSync('test-results');
const RESULT = 'test-results/jest.json';
const jest = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings',
    require.resolve('jest/bin/jest'),
    '--passWithNoTests',
    ...(process.env.CORRAL_JEST_WORKERS ? [`--maxWorkers=${process.env.CORRAL_JEST_WORKERS}`] : []),
    '--json',
    `--outputFile=${RESULT}`,
    ...process.argv.slice(2),
  ],
  { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, CORRAL_TEST_RUN_DIR: runDir } },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => jest.kill(signal));

// Something that a test left open keeps Jest from ending. That is a failure, and none to wait for.
const END_MS = 30_000;
const untilWritten = setInterval(() => {
  if (!existsSync(RESULT)) return;
  clearInterval(untilWritten);
  setTimeout(() => {
    process.stderr.write(`Jest has not ended ${END_MS / 1_000} s after its last test: something is left open.\n`);
    jest.kill('SIGKILL');
  }, END_MS);
}, 1_000);
jest.on('exit', (code) => process.exit(code ?? 1));
