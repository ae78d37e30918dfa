import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedUrl } from '@corral/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Supervised, supervise } from './supervise.js';

let folder: string;
let supervised: Supervised | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-supervise-'));
});
afterEach(async () => {
  await supervised?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('gives up on a program that cannot start as things are, with its last words', async () => {
  const [file, logFile] = [join(folder, 'program.mjs'), join(folder, 'program.log')];
  await writeFile(file, "console.error('Its folder is of another version.'); process.exit(78)");
  const spec = { name: 'program', file, env: {}, readyUrl: await closedUrl(), logFile };
  supervised = supervise(spec, (line) => {
    throw new Error(line);
  });

  await expect(supervised.ready).rejects.toThrow(/^Its folder is of another version\.$/);
});

/** @returns what is said when the program ends */
async function saidOf(program: string): Promise<string> {
  const [file, logFile] = [join(folder, 'program.mjs'), join(folder, 'program.log')];
  await writeFile(logFile, 'words of an earlier run\n');
  await writeFile(file, program);
  const readyUrl = await closedUrl();
  const said = await new Promise<string>((say) => {
    supervised = supervise({ name: 'program', file, env: { LOG: logFile }, readyUrl, logFile }, say);
  });
  return said.replace(logFile, 'LOG');
}

it.each([
  [
    'in the last words of its log',
    "console.error('one'); console.error('It cannot start. Its port is taken.'); process.exit(1)",
    '(exit code 1). Restarting it; its log is LOG, which ends with:\nIt cannot start. Its port is taken.',
  ],
  [
    'without the stack and the version of Node.js, which end a report',
    "throw new Error('odd')",
    '(exit code 1). Restarting it; its log is LOG, which ends with:\nError: odd',
  ],
  ['but not with words of an earlier run', 'process.exit(3)', '(exit code 3). Restarting it; its log is LOG'],
  [
    'although its log is gone',
    "(await import('node:fs')).rmSync(process.env.LOG); process.exit(4)",
    '(exit code 4). Restarting it; its log is LOG',
  ],
])('says why a program has ended, %s', async (_how, program, said) => {
  expect(await saidOf(program)).toBe(`program exited ${said}`);
});
