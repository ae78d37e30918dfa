import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, lstat, mkdir, readFile, realpath, rm, stat, statfs, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { waitFor } from '../wait-for.js';
import { isReachable, mkdtempFor, type RunAs, unprivilegedUser } from './binaries.js';

/** `path` contains `data` (Postgres' data directory), `password` and `log`. */
export type DataDirectory = { path: string; runAs: RunAs; temporary: string[] };

/** Root keeps data here if the unprivileged user cannot access the checkout, for example below /root. */
const REACHABLE_HOME = '/var/lib/corral';

const STALE_SERVER_MS_MAX = 15_000;

/** Linux keeps what is written here in memory. */
const MEMORY = '/dev/shm';
/** More than the databases of a run and their log take. A container's default is 64 MiB. */
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

/**
 * Creates a temporary folder for a disposable server.
 *
 * @param inMemory whether to keep it in memory where there is room: a database is hundreds of files, and copied there in a tenth of the time
 */
export async function temporaryDataDirectory({ inMemory }: { inMemory: boolean }): Promise<DataDirectory> {
  const runAs = unprivilegedUser();
  const parent = inMemory && (await hasMemory()) ? MEMORY : tmpdir();
  const home = await mkdtempFor(runAs, 'corral-postgres-', parent);
  return { path: home, runAs, temporary: [home] };
}

async function hasMemory(): Promise<boolean> {
  const found = await statfs(MEMORY).catch(() => null);
  return found !== null && found.bavail * found.bsize >= MEMORY_BYTES_MIN;
}

/**
 * Finds or creates the folder of a persistent server, and prepares it for a start.
 *
 * @throws Error with instructions when the folder belongs to another user, or a server is running on it
 */
export async function persistentDataDirectory(
  wanted: string,
  { patienceMs = STALE_SERVER_MS_MAX } = {},
): Promise<DataDirectory> {
  const place = resolve(wanted);
  if (!existsSync(place)) return { ...(await makeDataDirectory(place)), temporary: [] };
  const path = await realpath(place);
  const { uid, gid } = await stat(path);
  const we = process.getuid?.();
  if (we !== undefined && we !== 0 && uid !== we) {
    throw new Error(
      `${place} belongs to another user (id ${uid}; yours is ${we}). ` +
        'Work as that user, or remove the folder (as that user or with sudo).',
    );
  }
  await endStaleServer(path, patienceMs);
  return { path, runAs: we === 0 ? await ownerFor(path, uid, gid) : undefined, temporary: [] };
}

async function makeDataDirectory(place: string): Promise<Omit<DataDirectory, 'temporary'>> {
  const runAs = unprivilegedUser();
  await rm(place, { force: true }); // a broken link
  await mkdir(dirname(place), { recursive: true });
  if (isReachable(dirname(place), runAs)) return { path: await makeOwned(place, runAs), runAs };

  const elsewhere = join(REACHABLE_HOME, createHash('sha256').update(place).digest('hex').slice(0, 16));
  await mkdir(REACHABLE_HOME, { recursive: true, mode: 0o755 });
  await endStaleServer(elsewhere, STALE_SERVER_MS_MAX);
  await rm(elsewhere, { recursive: true, force: true }); // of an earlier checkout at this path
  const path = await makeOwned(elsewhere, runAs);
  await symlink(path, place);
  return { path, runAs };
}

async function makeOwned(path: string, runAs: RunAs): Promise<string> {
  await mkdir(path, { mode: 0o700 });
  if (runAs !== undefined) await chown(path, runAs.uid, runAs.gid);
  return path;
}

/** Root runs Postgres as the owner of the data. An empty folder created by root is handed over. */
async function ownerFor(path: string, uid: number, gid: number): Promise<RunAs> {
  if (uid !== 0) return { uid, gid };
  const runAs = unprivilegedUser();
  if (runAs !== undefined) await chown(path, runAs.uid, runAs.gid);
  return runAs;
}

/**
 * After a crash of the machine `postmaster.pid` may name an unrelated process, and Postgres would refuse to start.
 * After a SIGKILL of its owner the old server may still be shutting down.
 */
async function endStaleServer(path: string, patienceMs: number): Promise<void> {
  const dataDir = join(path, 'data');
  const lockFile = join(dataDir, 'postmaster.pid');
  const holder = async (): Promise<number | null> => {
    const pid = Number.parseInt(await readFile(lockFile, 'utf8').catch(() => ''), 10);
    return Number.isInteger(pid) && (await isPostgresOn(pid, dataDir)) ? pid : null;
  };
  try {
    await waitFor('the earlier server to end', async () => (await holder()) === null, { timeoutMs: patienceMs });
  } catch (cause) {
    throw new Error(`A Postgres (process ${await holder()}) runs on ${path}. Stop the Corral that started it first.`, {
      cause,
    });
  }
  await rm(lockFile, { force: true });
}

async function isPostgresOn(pid: number, dataDir: string): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  if (!(await lstat('/proc/self').catch(() => null))) return true; // not Linux: trust the file
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return commandLine.includes('postgres') && commandLine.split('\0').includes(dataDir);
}
