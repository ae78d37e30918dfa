import { appendFileSync, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { currentTestFile, resultsDir } from '../test-file.js';

/** A database that a failed test leaves to be looked into. */
export type KeptDatabase = { database: string; file: string };

const DATABASES_FILE = 'kept-databases.jsonl';
/** Below the folder of results: links to the folders of servers, as `startPostgres` takes them for `dataDir`. */
const SERVERS_FOLDER = 'postgres';

/** @returns whether the run keeps its server, and so the database. It does when `npm test` started that server. */
export function noteKept(database: string, env: NodeJS.ProcessEnv = process.env): boolean {
  const [folder, file] = [resultsDir(env), currentTestFile()];
  if (folder === undefined || file === undefined || !env.CORRAL_TEST_KEEPS_DATABASES) return false;
  appendFileSync(join(folder, DATABASES_FILE), `${JSON.stringify({ database, file: file.path })}\n`);
  return true;
}

export async function readKept(folder: string): Promise<KeptDatabase[]> {
  const text = await readFile(join(folder, DATABASES_FILE), 'utf8').catch(() => '');
  const lines = text.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as KeptDatabase);
}

/**
 * Leaves the data of a server that has ended, under this name or, where another one has it, with a number added to it. They
 * stay where they are, as the checkout may be out of reach for the user who runs Postgres.
 */
export async function keepServer(dataDir: string, name: string, folder: string): Promise<void> {
  await mkdir(join(folder, SERVERS_FOLDER), { recursive: true });
  for (let number = 1; ; number += 1) {
    try {
      return await symlink(dataDir, join(folder, SERVERS_FOLDER, number === 1 ? name : `${name}-${number}`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** @returns their folders by name, without those that somebody has removed */
export async function keptServers(folder: string): Promise<Map<string, string>> {
  const names = await readdir(join(folder, SERVERS_FOLDER)).catch(() => []);
  const places = names.sort().map((name) => [name, join(folder, SERVERS_FOLDER, name)] as const);
  return new Map(places.filter(([, place]) => existsSync(place)));
}

export async function removeKeptServers(folder: string): Promise<void> {
  for (const place of (await keptServers(folder)).values()) {
    await rm(await realpath(place), { recursive: true, force: true });
    await rm(place, { force: true });
  }
}
