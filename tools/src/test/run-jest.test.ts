import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEmptyDatabase, readKept } from '@corral/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import type { JestReport } from './add-up.js';
import { startJest } from './run-jest.js';
import { readSkipNotes } from './skips.js';

const library = fileURLToPath(import.meta.resolve('@corral/testing'));

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'corral-run-jest-')));
  await mkdir(join(folder, 'src'));
});
afterEach(() => rm(folder, { recursive: true }));

const resultsDir = (): string => join(folder, 'test-results');

/** Runs a test file in its own project, as `npm test` would. */
async function run(contents: string): Promise<{ report: JestReport | null; said: string }> {
  const imports = `
    import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
    import { createEmptyDatabase, describeNeeding, explainFailures, startProcess } from '${library}';\n`;
  await writeFile(join(folder, 'src', 'sample.test.ts'), imports + contents);
  const stderr = openSync(join(folder, 'stderr'), 'w');
  // The database of this test itself shows which server the run must use.
  const database = await createEmptyDatabase();
  const env = { CORRAL_TEST_POSTGRES_URL: database.url, CORRAL_TEST_KEEPS_DATABASES: '1' };
  const jest = await startJest({
    folders: [folder],
    patterns: [],
    workers: 1,
    env,
    flags: [],
    resultsDir: resultsDir(),
    stderr,
  });
  const report = await jest.ended;
  closeSync(stderr);
  for (const kept of await readKept(resultsDir())) await dropDatabase(kept.database, database.url);
  await database.drop();
  return { report, said: await readFile(join(folder, 'stderr'), 'utf8') };
}

async function dropDatabase(name: string, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`DROP DATABASE ${name}`);
  await client.end();
}

it('a test that fails is reported before the clean-up, with its processes, and its database is kept', async () => {
  const { report, said } = await run(`
    let state = 'as it was';
    explainFailures('state', () => state);
    let database;
    beforeAll(async () => { database = await createEmptyDatabase(); });
    afterEach(() => { state = 'cleaned up'; });
    afterAll(() => database.drop());
    describe('a group', () => {
      it('fails', async () => {
        const script = "console.log('up'); setTimeout(() => console.log('down'), 50)";
        const running = await startProcess({ command: process.execPath, args: ['-e', script], readyLine: 'up' });
        await running.exited;
        expect(1).toBe(2);
      });
      it('passes', () => undefined);
    });`);

  expect(report).toMatchObject({ success: false, numPassedTests: 1 });
  expect(said).toContain('● sample.test.ts: a group › fails\n\n  state: as it was\n');
  expect(said).toMatch(/database: test_\w+ is kept: npm run test:database/);
  expect(said).toContain('last output of node, all of it is in test-results/src.sample/node.log:\n    up\n    down\n');
  expect(await readKept(resultsDir())).toHaveLength(1);
  expect(await readFile(join(resultsDir(), 'src.sample', 'node.log'), 'utf8')).toBe('up\ndown\n');
});

it('a hook that fails is reported once', async () => {
  const hook = await run(`
    explainFailures('seed', () => 'SEED=7');
    describe('a group', () => {
      beforeAll(() => { throw new Error('no server'); });
      it('one', () => undefined);
      it('two', () => undefined);
    });`);

  expect(hook.said.match(/● sample\.test\.ts: .*/g)).toEqual(['● sample.test.ts: a group › beforeAll']);
  expect(hook.said).toContain('seed: SEED=7');
});

it('tests that pass print nothing, and leave only a record of skipped tests', async () => {
  const { report, said } = await run(`
    explainFailures('seed', () => 'SEED=7');
    const missing = { what: 'a thing', how: 'put it there' };
    describeNeeding(describe, missing, 'a thing', () => {
      it.each([1, 2])('%s', () => undefined);
      describe('deeper', () => { it('three', () => undefined); });
    });
    it('uses a database', async () => { await (await createEmptyDatabase()).drop(); });`);

  expect(report).toMatchObject({ success: true, numPassedTests: 1, numPendingTests: 3 });
  expect(said).not.toContain('SEED=7');
  expect(said).not.toContain('a thing:');
  expect(await readSkipNotes(resultsDir())).toEqual([{ what: 'a thing', how: 'put it there', tests: 3, lesser: 0 }]);
  expect(await readKept(resultsDir())).toEqual([]);
  expect(existsSync(join(resultsDir(), 'src.sample'))).toBe(false);
});
