import { appendFileSync, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { currentTestFile, resultsDir } from '../test-file.js';

/** A database kept for inspection after a failed test. */
type KeptDatabase = { database: string; file: string };

const DATABASES_FILE = 'kept-databases.jsonl';
/** Relative to the folder of results: links to server folders, which `startPostgres` accepts as `dataDir`. */
const SERVERS_FOLDER = 'postgres';

/** Records a database to keep. @returns whether it is kept, which requires that `npm test` started the server */
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
 * Keeps the data of a stopped server under this name, with a number appended if it is taken. The data stay in place,
 * because the user that runs Postgres may not have access to the checkout.
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

/** @returns the server folders by name, without removed ones */
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
