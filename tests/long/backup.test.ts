import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createEmptyDatabase, type TestDatabase } from '@corral/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ClusterSystem, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile } from '../support/system/program.js';

/* Backups as cron, Compose and the chart take them: by the built command, of the database of running services. */

let system: ClusterSystem;
let empty: TestDatabase;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-backups-'));
  empty = await createEmptyDatabase();
  system = await startClusterSystem({ gateways: 1 });
}, 300_000);
afterAll(async () => {
  await system?.stop();
  await empty?.drop();
  await rm(folder, { recursive: true, force: true });
});

/** @param output where standard output goes */
async function admin(databaseUrl: string, args: readonly string[], output?: string): Promise<number | null> {
  const child = spawn(process.execPath, [builtFile('apps/admin/dist/main.js'), ...args], {
    env: { DATABASE_URL: databaseUrl, MIGRATIONS_DIR: builtFile('prisma/migrations') },
    stdio: ['ignore', output === undefined ? 'ignore' : 'pipe', 'inherit'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (output !== undefined && child.stdout !== null) await pipeline(child.stdout, createWriteStream(output));
  return exited;
}

const ageOfBackup = async (): Promise<number> => {
  const text = await (await fetch(system.reconcilers[0]?.metricsUrl as string)).text();
  return Number(/^corral_backup_age_seconds\{.*\} (\S+)$/m.exec(text)?.[1]);
};

it('a streamed backup restores into another database, and its age is known', async () => {
  const file = join(folder, 'streamed.backup');
  expect(await ageOfBackup()).toBeNaN();

  expect(await admin(system.databaseUrl, ['backup', '-'], file)).toBe(0);

  expect(await ageOfBackup()).toBeLessThan(600);
  expect(await admin(empty.url, ['restore', file])).toBe(0);
}, 120_000);
