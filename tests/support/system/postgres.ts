import { join } from 'node:path';
import { freePort, migrateEmpty, startPostgres } from '@corral/testing';
import { type Ends, ownFolder } from './system-parts.js';

/** A migrated Postgres that a test may stop and start again at the same address. It keeps its data, and runs. */
export async function restartablePostgres(ends: Ends) {
  const folder = await ownFolder(ends);
  const port = await freePort();
  const launch = () => startPostgres({ dataDir: join(folder, 'postgres'), port, settings: ['fsync=off'] });
  let running = await launch();
  ends.push(() => running.stop());
  await migrateEmpty(running.url);
  return {
    databaseUrl: running.url,
    stop: () => running.stop(),
    async start(): Promise<void> {
      running = await launch();
    },
  };
}
