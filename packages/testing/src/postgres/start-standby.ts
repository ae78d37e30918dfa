import { spawnSync } from 'node:child_process';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mkdtempFor, unprivilegedUser } from './binaries.js';
import { onConnection } from './connection.js';
import { type PostgresServer, startPostgres } from './start-postgres.js';

export interface Standby extends PostgresServer {
  /** Makes it the primary. */
  promote(): Promise<void>;
}

/** Starts a streaming replica of a running server, which has the same users and passwords. */
export async function startStandby(primary: PostgresServer): Promise<Standby> {
  const runAs = unprivilegedUser();
  const dataDir = await mkdtempFor(runAs, 'corral-standby-');
  const write = async (name: string, content: string): Promise<void> => {
    const path = join(dataDir, 'data', name);
    await writeFile(path, content);
    if (runAs !== undefined) await chown(path, runAs.uid, runAs.gid);
  };
  await onConnection(primary.url, async (client) => {
    await client.query(`SELECT pg_backup_start('standby', true)`);
    copy(`${primary.dataDir}/.`, dataDir);
    const { rows } = await client.query<{ label: string }>('SELECT labelfile AS label FROM pg_backup_stop(false)');
    await write('backup_label', rows[0]?.label ?? '');
  });
  await rm(join(dataDir, 'data', 'postmaster.pid'), { force: true });
  await write('standby.signal', '');
  const { port, username, password } = new URL(primary.url);
  const source = `primary_conninfo=host=127.0.0.1 port=${port} user=${username} password=${password}`;
  const server = await startPostgres({ dataDir, persistent: false, settings: [source] });
  return {
    ...server,
    promote: () => onConnection(server.url, async (client) => void (await client.query('SELECT pg_promote()'))),
  };
}

/** Copies files with owners and permissions, which Postgres checks. Files that vanish meanwhile are no error of a base backup. */
function copy(from: string, to: string): void {
  spawnSync('cp', ['-a', from, to]);
}
