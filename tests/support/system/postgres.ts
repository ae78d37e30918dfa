import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ended, freePort, migrateEmpty, type PostgresServer, startPostgres } from '@corral/testing';

/** A migrated Postgres that a test may stop and start again, with the same address and data. */
export async function restartablePostgres() {
  const folder = await mkdtemp(join(tmpdir(), 'corral-system-'));
  await chmod(folder, 0o755); // under root, Postgres runs as another user
  const port = await freePort();
  const launch = (): Promise<PostgresServer> =>
    startPostgres({ dataDir: join(folder, 'postgres'), port, settings: ['fsync=off'] });
  let server = await launch();
  await migrateEmpty(server.url);
  return {
    name: 'Postgres',
    url: server.url,
    stop: () => server.stop(),
    /** Cuts all connections immediately. Uncommitted data is lost. */
    kill: () => server.stop(),
    untilReady: async (): Promise<void> => undefined, // `start` has waited for it
    output: (): string => '',
    get exited(): Promise<Ended> {
      return server.exited.then(() => ({ code: 0, signal: null }));
    },
    start: async () => {
      server = await launch();
    },
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
