import { connectWhenUp } from './connect-when-up.js';
import { readMigrations } from './migration-files.js';
import { withSchemaEngine } from './schema-engine.js';

export type ApplyOptions = {
  databaseUrl: string;
  migrationsDir: string;
  log?: (message: string) => void;
  /** How long a Postgres that is starting is waited for. Default: 30,000. */
  connectTimeoutMs?: number;
};

/** Any number, as long as nothing else locks it. The engine has a lock of its own, which its driver cannot hold. */
const MIGRATION_LOCK = 7_237_000;

/**
 * Brings a database up to the last migration. It keeps the table `_prisma_migrations` as `prisma migrate deploy` does.
 * Any number of processes may do so at once: one migrates, the others wait and find nothing left to do.
 *
 * @returns the names of the migrations applied just now
 * @throws Error when Postgres cannot be reached, or a migration fails or failed before
 */
export async function applyMigrations({
  databaseUrl,
  migrationsDir,
  log = () => undefined,
  connectTimeoutMs = 30_000,
}: ApplyOptions): Promise<string[]> {
  const migrationsList = await readMigrations(migrationsDir);
  const holder = await connectWhenUp(databaseUrl, { log, timeoutMs: connectTimeoutMs });
  try {
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]); // freed with the connection
    const { appliedMigrationNames } = await withSchemaEngine(databaseUrl, (engine) =>
      engine.applyMigrations({ migrationsList, filters: { externalTables: [], externalEnums: [] } }),
    );
    for (const name of appliedMigrationNames) log(`applied migration ${name}`);
    return appliedMigrationNames;
  } finally {
    await holder.end();
  }
}
