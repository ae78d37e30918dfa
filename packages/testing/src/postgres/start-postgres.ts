import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync } from 'node:fs';
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.js';
import { endWithUs } from '../process/end-with-us.js';
import { waitFor } from '../wait-for.js';
import { type Binaries, findBinaries } from './binaries.js';
import { type DataDirectory, persistentDataDirectory, temporaryDataDirectory } from './data-directory.js';

export type PostgresOptions = {
  /** Default: a temporary folder. */
  dataDir?: string;
  /** Default: a free port. */
  port?: number;
  /** Whether data are kept after `stop`. Default: true if `dataDir` is given. */
  persistent?: boolean;
  /** Whether a temporary folder may be in memory. Default: false. */
  inMemory?: boolean;
  /** More settings, such as `work_mem=64MB`. */
  settings?: readonly string[];
};

export type PostgresServer = {
  /** URL of the database `postgres`, as the superuser. */
  url: string;
  port: number;
  /** The server's data folder. */
  dataDir: string;
  /** Resolves when the server has ended for any reason. */
  exited: Promise<void>;
  /** Stops the server, and removes its data unless they are kept. Safe to repeat. */
  stop(): Promise<void>;
};

const SUPERUSER = 'corral';

/** Test data need not survive a power failure. */
const throwawaySettings = (major: number): string[] => [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'autovacuum=off',
  ...(major < 18 ? [] : ['file_copy_method=clone']), // the kernel copies the files of a template, in half the time
];
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=', // a socket in /tmp would collide with another checkout's
  'max_connections=300',
  'timezone=UTC',
];

/**
 * Starts a Postgres on 127.0.0.1: the embedded 18, or that of `CORRAL_TEST_POSTGRES_BIN`. Works as root and as a regular user, alongside other instances, and ends with
 * this process even after a SIGKILL.
 */
export async function startPostgres({
  dataDir,
  port,
  persistent = dataDir !== undefined,
  inMemory = false,
  settings: more = [],
}: PostgresOptions = {}): Promise<PostgresServer> {
  const directory =
    dataDir === undefined ? await temporaryDataDirectory({ inMemory }) : await persistentDataDirectory(dataDir);
  const binaries = await findBinaries(directory.runAs);
  const temporary = [...directory.temporary, ...binaries.temporary, ...(persistent ? [] : [directory.path])];
  try {
    const password = await prepare(directory, binaries, { durable: persistent });
    const settings = [...SETTINGS, ...(persistent ? [] : throwawaySettings(binaries.major)), ...more];
    return await launch({ directory, binaries, settings, password, temporary }, port);
  } catch (error) {
    await removeAll(temporary);
    throw error;
  }
}

/** Initializes the database cluster if needed. Atomic: a later start never finds a partial one. */
async function prepare(
  { path, runAs }: DataDirectory,
  { initdb, major }: Binaries,
  { durable }: { durable: boolean },
): Promise<string> {
  const passwordFile = join(path, 'password');
  if (existsSync(join(path, 'data', 'PG_VERSION'))) return readFile(passwordFile, 'utf8');
  const password = randomBytes(24).toString('base64url');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (runAs !== undefined) await chown(passwordFile, runAs.uid, runAs.gid);

  const unfinished = join(path, 'data.unfinished');
  await rm(unfinished, { recursive: true, force: true });
  const { status, stderr, error } = spawnSync(
    initdb,
    [
      `--pgdata=${unfinished}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C', // same collation on every machine
      ...(durable ? [] : ['--no-sync']),
      // A random password needs no stretching, and tests open thousands of connections.
      ...(durable || major < 16 ? [] : ['--set=scram_iterations=1']),
    ],
    { cwd: '/', encoding: 'utf8', ...runAs },
  );
  if (status !== 0) throw new Error(`initdb could not prepare ${path}.\n${stderr}`, { cause: error });
  await rename(unfinished, join(path, 'data'));
  return password;
}

type Launch = {
  directory: DataDirectory;
  binaries: Binaries;
  settings: string[];
  password: string;
  temporary: string[];
};

const PORT_TRIES_MAX = 5;

async function launch(plan: Launch, port: number | undefined): Promise<PostgresServer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await launchOn(port ?? (await freePort()), plan);
    } catch (error) {
      const portWasTaken = /could not bind|could not create any TCP/.test(String(error));
      if (port !== undefined || !portWasTaken || tries === PORT_TRIES_MAX) throw error;
    }
  }
}

async function launchOn(
  port: number,
  { directory, binaries, settings, password, temporary }: Launch,
): Promise<PostgresServer> {
  const { path, runAs } = directory;
  const logFile = join(path, 'log');
  // Keeps the previous log, which explains how the last server ended.
  if (existsSync(logFile)) await rename(logFile, `${logFile}.before`);
  const log = openSync(logFile, 'w', 0o600);
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const server = spawn(binaries.postgres, ['-D', join(path, 'data'), '-p', String(port), ...flags], {
    cwd: '/',
    detached: true, // Ctrl-C must not end it before processes that still write to it
    stdio: ['ignore', log, log],
    ...runAs,
  });
  closeSync(log);
  const exited = new Promise<void>((resolve) => {
    server.once('exit', () => resolve());
    server.once('error', () => resolve());
  });
  const cancelWatch = server.pid === undefined ? () => undefined : watchOver(server.pid, temporary);
  void exited.then(cancelWatch);
  const url = `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
  try {
    await untilReady(url, exited);
  } catch (error) {
    await end(server, exited);
    throw new Error(`Postgres did not start on ${path}.\n${await readFile(logFile, 'utf8')}`, { cause: error });
  }
  server.unref();
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await end(server, exited);
    await removeAll(temporary);
  };
  return {
    url,
    port,
    dataDir: path,
    exited,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

const watchOver = (pid: number, directories: string[]): (() => void) =>
  endWithUs({ pid, signal: 'INT', whom: 'process', directories });

async function untilReady(url: string, exited: Promise<void>): Promise<void> {
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  await waitFor('Postgres to accept connections', () => isOver || acceptsConnections(url), { timeoutMs: 60_000 });
  if (isOver) throw new Error('It ended immediately.');
}

async function acceptsConnections(url: string): Promise<true> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } finally {
    await client.end();
  }
}

const END_TIMEOUT_MS = 10_000;

/**
 * "Fast" shutdown closes connections and keeps data safe. If it hangs, an immediate shutdown follows, which is safe as
 * well.
 */
async function end(server: ChildProcess, exited: Promise<void>): Promise<void> {
  server.ref();
  server.kill('SIGINT');
  const force = setTimeout(() => server.kill('SIGQUIT'), END_TIMEOUT_MS);
  await exited;
  clearTimeout(force);
}

async function removeAll(directories: string[]): Promise<void> {
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
}
