import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeFailure, maskSecrets, writeLogs } from '../src/failures/describe-failure.js';
import { startProcess } from '../src/process/start-process.js';
import { currentTestFile, type TestFile } from '../src/test-file.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'corral-describe-failure-'));
});
afterEach(() => rm(root, { recursive: true }));

const results = (): string => join(root, 'test-results');
const aFile = (changes: Partial<TestFile> = {}): TestFile => ({
  path: join(root, 'tests/system/dns-crash.test.ts'),
  testsAdded: 1,
  explanations: new Set(),
  processes: [],
  ...changes,
});
const explaining = (...explain: (() => string | Promise<string>)[]): Partial<TestFile> => ({
  explanations: new Set(explain.map((each, at) => ({ title: `thing ${at + 1}`, explain: each }))),
});
const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('');

describe('describeFailure', () => {
  it('is empty when nothing explains the failure', async () => {
    expect(await describeFailure(aFile(explaining(() => '')), 'a test', results())).toBe('');
  });

  it('contains the names of file and test, and the explanations in order of registration', async () => {
    const file = aFile(
      explaining(
        () => 'SEED=7',
        async () => 'one\ntwo',
      ),
    );

    expect(await describeFailure(file, 'a › test', results())).toBe(
      '\n● dns-crash.test.ts: a › test\n\n  thing 1: SEED=7\n\n  thing 2:\n    one\n    two\n\n',
    );
  });

  it('contains the other explanations when one fails', async () => {
    const broken = () => Promise.reject(new Error('no connection'));

    const text = await describeFailure(aFile(explaining(broken, () => 'SEED=7')), 'a test', results());

    expect(text).toContain('thing 1: (not available: Error: no connection)');
    expect(text).toContain('thing 2: SEED=7');
  });

  it('is bounded, and keeps the end of a long explanation', async () => {
    const long = Array.from({ length: 20 }, () => () => `${lines(2_000)}the end`);

    const text = await describeFailure(aFile(explaining(...long)), 'a test', results());

    expect(text.length).toBeLessThan(25_000);
    expect(text).toContain('the end');
  });

  it('contains the last lines of each process with output, and writes all of them to a file', async () => {
    const processes = [
      { name: 'dns-gateway 1', output: () => lines(100) },
      { name: 'reconciler', output: () => '' },
      { name: 'dns-gateway 1', output: () => 'started again' },
    ];

    const text = await describeFailure(aFile({ processes }), 'a test', results());

    const path = 'test-results/tests.system.dns-crash/dns-gateway-1.log';
    expect(text).toContain(`last output of dns-gateway 1, all of it is in ${path}:\n    line 87\n`);
    expect(text).toContain('    line 100\n    started again\n');
    expect(text).not.toContain('reconciler');
    expect(await readFile(join(root, path), 'utf8')).toBe(`${lines(100)}started again\n`);
  });

  it('also writes output that follows the failure to the file', async () => {
    let output = 'ready\n';
    const file = aFile({ processes: [{ name: 'api', output: () => output }] });
    await describeFailure(file, 'a test', results());

    output += 'ended\n';
    writeLogs(file, results());

    expect(await readFile(join(root, 'test-results/tests.system.dns-crash/api.log'), 'utf8')).toBe('ready\nended\n');
  });

  it('masks tokens in the output and in files', async () => {
    const token = 'JXsjIXAZnKJGoIgldPd6syHYXl8fmZc2XZvP4w6eP6QfkrEYyga9UXFIv5CxCX6a';
    const processes = [{ name: 'admin', output: () => `Token "ci":\n\n  ${token}\n` }];

    const text = await describeFailure(aFile({ ...explaining(() => token), processes }), 'a test', results());

    const log = await readFile(join(root, 'test-results/tests.system.dns-crash/admin.log'), 'utf8');
    expect([text, log].filter((text) => text.includes(token.slice(10)))).toEqual([]);
    expect(log).toContain('JXs…(64 characters)');
  });
});

describe('maskSecrets', () => {
  it.each([
    'sessionid=Bpa7_M2nysreUuas1jbIJIcLZH2h-waZAOqs8OAC8TI',
    'postgresql://corral:JV6QaTT1eBvjCdGHd7w6QqCmW5TAHjgO@127.0.0.1:11179/test',
    '-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----',
  ])('hides the secret in %j', (text) => {
    expect(maskSecrets(text)).toMatch(/…\(\d+ characters\)|\(private key\)/);
  });

  it.each([
    'shoot--t8a74599--ca8f55dd-pcb34f-hel1-dc2-4v9nc-4cp9k',
    'e11dc9ab-b924-4892-b1f7-1cc55687966e',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    'PrismaClientKnownRequestError',
    'file:///work/corral/apps/dns-gateway/dist/main.js',
  ])('keeps %s', (text) => {
    expect(maskSecrets(text)).toBe(text);
  });
});

it('startProcess registers the process under the name of its program', async () => {
  const file = currentTestFile() as TestFile;
  const before = file.processes.length;

  const running = await startProcess({ command: process.execPath, args: ['-e', 'console.log(1)'] });
  await running.exited;
  const named = await startProcess({ name: 'gateway 2', command: process.execPath, args: ['--version'] });
  await named.exited;

  expect(file.processes.slice(before).map(({ name }) => name)).toEqual(['node', 'gateway 2']);
  expect(file.processes[before]?.output()).toBe('1\n');
});
