import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, type Missing, startProcess, unlessInstalled } from '@corral/testing';
import { type Ends, ownFolder } from './system-parts.js';

export const missingPgbouncer = (): Missing | null =>
  unlessInstalled(['pgbouncer', '--version'], { what: 'PgBouncer', how: 'apt-get install pgbouncer' });

/**
 * A PgBouncer with default settings, but for its mode and the number of sessions, which session mode needs. It logs in as the user of the URL,
 * whoever connects.
 *
 * @returns the URL of the database through it
 */
export async function startPgbouncer(
  ends: Ends,
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<string> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const listenPort = await freePort();
  const file = join(await ownFolder(ends), 'pgbouncer.ini');
  const settings = `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 100
`;
  await writeFile(file, settings);
  const account = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const running = await startProcess({
    command: 'pgbouncer',
    args: [...account, file],
    readyLine: /process up/,
  });
  ends.push(running.stop);
  const through = new URL(databaseUrl);
  through.port = String(listenPort);
  return through.href;
}
