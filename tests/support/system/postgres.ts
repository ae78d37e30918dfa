import { join } from 'node:path';
import { freePort, migrateEmpty, startPostgres, waitFor } from '@corral/testing';
import { type Ends, ownFolder } from './system-parts.js';

const START_MS_MAX = 120_000;

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
    /** Another program may have taken its port meanwhile, for a moment. */
    async start(): Promise<void> {
      running = await waitFor('Postgres to start again', launch, { timeoutMs: START_MS_MAX });
    },
  };
}
