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

/** In place of Jest's, which takes no new tests while one runs. */
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

describe('a group of tests that needs something', () => {
  it('runs where that is there, and nothing is noted', async () => {
    const { describe, groups } = aDescribe();

    describeNeeding(describe, null, 'curl', addTests(3));

    expect(groups).toEqual(['run: curl']);
    expect(await notes()).toEqual([]);
  });

  it('is skipped elsewhere, and the number of its tests is noted', async () => {
    const { describe, groups } = aDescribe();

    describeNeeding(describe, curl, 'curl', addTests(3));

    expect(groups).toEqual(['skip: curl']);
    expect(await notes()).toEqual([{ ...curl, tests: 3, lesser: 0 }]);
  });

  it('is there once for each case, of which some may be skipped', async () => {
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

it('a test that shows less without something notes that it did', async () => {
  showsLessWithout(null);
  showsLessWithout(curl);

  expect(await notes()).toEqual([{ ...curl, tests: 0, lesser: 1 }]);
});

it('a program is missing when it cannot be run, and when it fails', () => {
  expect(unlessInstalled([process.execPath, '--version'], curl)).toBeNull();
  expect(unlessInstalled(['no-such-command'], curl)).toBe(curl);
  expect(unlessInstalled([process.execPath, '-e', 'process.exit(1)'], curl)).toBe(curl);
});
