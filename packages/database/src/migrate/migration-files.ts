import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MigrationList } from '@prisma/schema-engine-wasm/schema_engine_bg';

const LOCK_FILE = 'migration_lock.toml';
const LOCK_CONTENT = 'provider = "postgresql"\n';
const SCRIPT_FILE = 'migration.sql';

/** Reads `prisma/migrations` in the schema engine's format. */
export async function readMigrations(migrationsDir: string): Promise<MigrationList> {
  const entries = await readdir(migrationsDir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const lock = await readFile(join(migrationsDir, LOCK_FILE), 'utf8').catch(() => null);
  const migrationDirectories = await Promise.all(
    names.sort().map(async (path) => {
      const value = await readFile(join(migrationsDir, path, SCRIPT_FILE), 'utf8');
      return { path, migrationFile: { path: SCRIPT_FILE, content: { tag: 'ok' as const, value } } };
    }),
  );
  return {
    baseDir: migrationsDir,
    lockfile: { path: LOCK_FILE, content: lock },
    shadowDbInitScript: '',
    migrationDirectories,
  };
}

export type NewMigration = { migrationsDir: string; name: string; sql: string; now: Date };

/**
 * Writes `<timestamp>_<name>/migration.sql`, and the lock file if missing.
 *
 * @returns the path of the script
 * @throws Error when the name is not lower-case words joined by `_`
 */
export async function writeMigration({ migrationsDir, name, sql, now }: NewMigration): Promise<string> {
  if (!/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name)) {
    throw new Error(`"${name}" is no name for a migration. Say what changes in lower-case words, as add_team_slug.`);
  }
  const timestamp = now.toISOString().replace(/\D/g, '').slice(0, 14);
  const folder = join(migrationsDir, `${timestamp}_${name}`);
  await mkdir(folder, { recursive: true });
  if (!existsSync(join(migrationsDir, LOCK_FILE))) await writeFile(join(migrationsDir, LOCK_FILE), LOCK_CONTENT);
  await writeFile(join(folder, SCRIPT_FILE), sql, { flag: 'wx' });
  return join(folder, SCRIPT_FILE);
}
