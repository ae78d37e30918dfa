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

it('says why a program has ended, in the last words of its log', async () => {
  const [file, logFile] = [join(folder, 'program.mjs'), join(folder, 'program.log')];
  await writeFile(
    file,
    "console.error('one'); console.error('program cannot start. Its port is taken.'); process.exit(1)",
  );

  const readyUrl = await closedUrl();
  const said = await new Promise<string>((say) => {
    supervised = supervise({ name: 'program', file, env: {}, readyUrl, logFile }, say);
  });

  expect(said).toBe(
    `program exited (exit code 1). Restarting it; its log is ${logFile}, which ends with:\nprogram cannot start. Its port is taken.`,
  );
});
