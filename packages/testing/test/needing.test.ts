import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  describeEachNeeding,
  describeNeeding,
  type Missing,
  SKIP_NOTES_FILE,
  showsLessWithout,
  unlessInstalled,
} from '../src/needing.js';
import { currentTestFile, type TestFile } from '../src/test-file.js';

const curl: Missing = { what: 'curl', how: 'put curl on PATH' };

let folder: string;
let resultsOfThisRun: string | undefined;
let added: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-needing-'));
  resultsOfThisRun = process.env.CORRAL_TEST_RESULTS_DIR;
  process.env.CORRAL_TEST_RESULTS_DIR = folder;
  added = (currentTestFile() as TestFile).testsAdded;
});
afterEach(async () => {
  if (resultsOfThisRun === undefined) delete process.env.CORRAL_TEST_RESULTS_DIR;
  else process.env.CORRAL_TEST_RESULTS_DIR = resultsOfThisRun;
  (currentTestFile() as TestFile).testsAdded = added;
  await rm(folder, { recursive: true });
});

/** Replaces Jest's `describe`, which accepts no tests while one is running. */
function aDescribe() {
  const groups: string[] = [];
  const of = (mode: string) => (title: string, tests: () => void) => {
    groups.push(`${mode}: ${title}`);
    tests();
  };
  return { groups, describe: Object.assign(of('run'), { skip: of('skip') }) };
}
const addTests = (count: number) => () => {
  (currentTestFile() as TestFile).testsAdded += count;
};
const notes = async (): Promise<unknown[]> => {
  const text = await readFile(join(folder, SKIP_NOTES_FILE), 'utf8').catch(() => '');
  const lines = text.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
};

describe('a group of tests with a requirement', () => {
  it('runs when it is met, and notes nothing', async () => {
    const { describe, groups } = aDescribe();

    describeNeeding(describe, null, 'curl', addTests(3));

    expect(groups).toEqual(['run: curl']);
    expect(await notes()).toEqual([]);
  });

  it('is skipped otherwise, and the number of its tests is noted', async () => {
    const { describe, groups } = aDescribe();

    describeNeeding(describe, curl, 'curl', addTests(3));

    expect(groups).toEqual(['skip: curl']);
    expect(await notes()).toEqual([{ ...curl, tests: 3, lesser: 0 }]);
  });

  it('is registered per case, and skipped for cases that lack it', async () => {
    const { describe, groups } = aDescribe();
    const cases = [
      { backend: 'Postgres', missing: null },
      { backend: 'Redis', missing: curl },
    ];

    describeEachNeeding(describe, cases, 'jobs on $backend', addTests(2));

    expect(groups).toEqual(['run: jobs on Postgres', 'skip: jobs on Redis']);
    expect(await notes()).toHaveLength(1);
  });
});

it('showsLessWithout notes reduced coverage', async () => {
  showsLessWithout(null);
  showsLessWithout(curl);

  expect(await notes()).toEqual([{ ...curl, tests: 0, lesser: 1 }]);
});

it('unlessInstalled reports a program that is missing or fails', () => {
  expect(unlessInstalled([process.execPath, '--version'], curl)).toBeNull();
  expect(unlessInstalled(['no-such-command'], curl)).toBe(curl);
  expect(unlessInstalled([process.execPath, '-e', 'process.exit(1)'], curl)).toBe(curl);
});
