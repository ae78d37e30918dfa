import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithUs, removeKeptServers } from '@corral/testing';
import type { JestReport } from './add-up.js';

const CONFIG = fileURLToPath(new URL('../../jest/jest.config.mjs', import.meta.url));
/** Something that a test left open keeps Jest from ending. That is a failure, and none to wait for. */
const END_MS = 30_000;

export type JestRun = {
  /** Absolute paths. */
  folders: string[];
  /** Of paths of test files; none: all of them. */
  patterns: string[];
  workers: number;
  env: Record<string, string>;
  /** Further arguments for Jest. */
  flags: string[];
  /** Where its messages go. Default: to our stderr. */
  stderr?: number;
  /** Where the report, and all that tests leave to be read, is kept. Emptied first. */
  resultsDir: string;
};

export type StartedJest = {
  interrupt(): void;
  /** @returns the report, or null when Jest ended before it wrote one */
  ended: Promise<JestReport | null>;
};

export async function startJest(run: JestRun): Promise<StartedJest> {
  const { folders, patterns, workers, env, flags, resultsDir, stderr = 'inherit' } = run;
  await removeKeptServers(resultsDir);
  await rm(resultsDir, { recursive: true, force: true }); // a run that dies must not show an older one's numbers
  await mkdir(resultsDir, { recursive: true });
  const reportFile = join(resultsDir, 'jest.json');
  const bin = join(createRequire(import.meta.url).resolve('jest/package.json'), '../bin/jest.js');
  const args = [
    `--config=${CONFIG}`,
    `--maxWorkers=${workers}`,
    '--json',
    `--outputFile=${reportFile}`,
    ...flags,
    '--roots',
    ...folders,
    ...(patterns.length > 0 ? ['--testPathPatterns', ...patterns] : []),
  ];
  const jest = spawn(process.execPath, [bin, ...args], {
    // The report is in the file.
    stdio: ['ignore', 'ignore', stderr],
    env: { ...process.env, CORRAL_TEST_RESULTS_DIR: resultsDir, ...env },
    // Ctrl-C at the terminal reaches us only, and we end Jest before Postgres.
    detached: true,
  });
  const callOff =
    jest.pid === undefined ? () => undefined : endWithUs({ pid: jest.pid, signal: 'TERM', whom: 'group' });
  const interrupt = () => {
    if (jest.pid !== undefined && jest.exitCode === null) process.kill(-jest.pid, 'SIGTERM');
  };
  let patience: NodeJS.Timeout | undefined;
  const watch = setInterval(() => {
    if (!existsSync(reportFile)) return;
    clearInterval(watch);
    patience = setTimeout(() => {
      process.stderr.write(`Jest has not ended ${END_MS / 1_000} s after its last test: a test left something open.\n`);
      interrupt();
    }, END_MS);
  }, 1_000);
  const ended = new Promise<JestReport | null>((resolve, reject) => {
    jest.once('error', reject);
    jest.once('exit', (code) => {
      clearInterval(watch);
      clearTimeout(patience);
      callOff();
      readReport(reportFile).then(
        (report) => resolve(report && { ...report, success: report.success && code === 0 }),
        reject,
      );
    });
  });
  return { interrupt, ended };
}

async function readReport(file: string): Promise<JestReport | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as JestReport);
}
