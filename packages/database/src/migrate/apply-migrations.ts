import { setTimeout as pause } from 'node:timers/promises';
import { appliedMigrations, refuseOldServer } from '../server-checks.js';
import { connectWhenUp } from './connect-when-up.js';
import { readMigrations } from './migration-files.js';
import { withSchemaEngine } from './schema-engine.js';

export type ApplyOptions = {
  databaseUrl: string;
  migrationsDir: string;
  log?: (message: string) => void;
  /** How long to wait for a starting Postgres, in ms. Default: 30,000. */
  connectTimeoutMs?: number;
  /** Applies only these, if they are pending. Default: all. */
  only?: ReadonlySet<string>;
};

/** Arbitrary, but used for nothing else. The engine's own lock does not work with its adapter. */
const MIGRATION_LOCK = 7_237_000;

const LOCK_RETRY_MS = 100;

async function tookLock(session: Awaited<ReturnType<typeof connectWhenUp>>): Promise<boolean> {
  const { rows } = await session.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.taken === true;
}

/** @throws Error for a schema that was made before the first of these migrations, which would make everything once more */
async function refuseOlderSchema(
  session: Awaited<ReturnType<typeof connectWhenUp>>,
  [first]: readonly { readonly path: string }[],
): Promise<void> {
  const [oldest] = await appliedMigrations(session);
  if (first !== undefined && oldest !== undefined && oldest.name < first.path) {
    throw new Error(
      `The database was made before the first release: it has the migration ${oldest.name}. Use an empty one; in a checkout, \`npm run reset\` makes it.`,
    );
  }
}

/**
 * Applies all pending migrations. Maintains the table `_prisma_migrations` like `prisma migrate deploy`. Concurrent
 * calls are safe: one process migrates, the others wait and find nothing pending.
 *
 * @returns the names of the newly applied migrations
 * @throws Error when Postgres is unreachable or too old, or a migration fails or failed before
 */
export async function applyMigrations({
  databaseUrl,
  migrationsDir,
  log = () => undefined,
  connectTimeoutMs = 30_000,
  only,
}: ApplyOptions): Promise<string[]> {
  const all = await readMigrations(migrationsDir);
  const migrationDirectories = all.migrationDirectories.filter(({ path }) => only === undefined || only.has(path));
  const migrationsList = { ...all, migrationDirectories };
  const session = await connectWhenUp(databaseUrl, { log, timeoutMs: connectTimeoutMs });
  try {
    const { rows } = await session.query<{ version: number }>(
      `SELECT current_setting('server_version_num')::int AS version`,
    );
    refuseOldServer(rows[0]?.version ?? 0);
    // Released with the connection. A statement that waits for it would have a snapshot, for whose end `CREATE INDEX
    // CONCURRENTLY` of the process that has the lock waits in turn.
    while (!(await tookLock(session))) await pause(LOCK_RETRY_MS);
    await refuseOlderSchema(session, all.migrationDirectories);
    const { appliedMigrationNames } = await withSchemaEngine(databaseUrl, (engine) =>
      engine.applyMigrations({ migrationsList, filters: { externalTables: [], externalEnums: [] } }),
    );
    for (const name of appliedMigrationNames) log(`applied migration ${name}`);
    return appliedMigrationNames;
  } finally {
    await session.end();
  }
}
