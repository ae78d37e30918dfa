import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endWithUs } from '@corral/testing';
import type { JestReport } from './add-up.js';

const CONFIG = fileURLToPath(new URL('../../jest/jest.config.mjs', import.meta.url));
/** Modules are loaded as they are, not rewritten for CommonJS. Node.js warns that this is experimental, for each worker. */
const NODE_OPTIONS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
/** What Node.js compiles of the programs that tests start again and again. */
const COMPILED = fileURLToPath(new URL('../../../node_modules/.cache/node-compile-cache', import.meta.url));
/** Something that a test left open can keep Jest from ending. That is a failure, and Jest is stopped after this time. */
const END_MS = 120_000;

export type JestRun = {
  /** Absolute paths. */
  folders: string[];
  /** Patterns for paths of test files. Without any, all files run. */
  patterns: string[];
  workers: number;
  env: Record<string, string>;
  /** More arguments for Jest. */
  flags: string[];
  /** The folder for the report and the files that tests leave. It is emptied first. */
  resultsDir: string;
};

export type StartedJest = {
  interrupt(): void;
  /** @returns the report, or null if Jest ended before it wrote one */
  ended: Promise<JestReport | null>;
};

export async function startJest(run: JestRun): Promise<StartedJest> {
  const { folders, patterns, workers, env, flags, resultsDir } = run;
  await rm(resultsDir, { recursive: true, force: true }); // a run that crashes must not show the numbers of an older one
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
  const jest = spawn(process.execPath, [...NODE_OPTIONS, bin, ...args], {
    // The report is in the file.
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, CORRAL_TEST_RESULTS_DIR: resultsDir, ...env },
    // Ctrl-C in the terminal reaches only us, and we end Jest before Postgres.
    detached: true,
  });
  const callOff =
    jest.pid === undefined ? () => undefined : endWithUs({ pid: jest.pid, signal: 'TERM', whom: 'group' });
  const interrupt = () => {
    if (jest.pid !== undefined && jest.exitCode === null) process.kill(-jest.pid, 'SIGTERM');
  };
  let stopping: NodeJS.Timeout | undefined;
  const watch = setInterval(() => {
    if (!existsSync(reportFile)) return;
    clearInterval(watch);
    stopping = setTimeout(() => {
      process.stderr.write(`Jest has not ended ${END_MS / 1_000} s after its last test: a test left something open.\n`);
      interrupt();
    }, END_MS);
  }, 1_000);
  const ended = new Promise<JestReport | null>((resolve, reject) => {
    jest.once('error', reject);
    jest.once('exit', (code) => {
      clearInterval(watch);
      clearTimeout(stopping);
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
