import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Prisma } from '@corral/database';
import { OperatorError } from '../operator-error.js';
import type { Manifest } from './archive-format.js';

/** @throws OperatorError when the database has any table */
export async function requireEmpty(prisma: Prisma): Promise<void> {
  const [table] = await prisma.$queryRaw<{ name: string }[]>`
    SELECT schemaname || '.' || tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1 LIMIT 1`;
  if (table === undefined) return;
  throw new OperatorError(
    `The database is not empty: it has the table ${table.name}. Create a new database, and set DATABASE_URL to it.`,
  );
}

/**
 * A backup can be restored by its own version of Corral, or by a later one, which migrates it afterwards.
 *
 * @throws OperatorError when the archive has a migration that this version does not have
 */
export async function requireKnownMigrations({ migrations }: Manifest, migrationsDir: string): Promise<void> {
  for (const { name, checksum } of migrations) {
    // The name comes from a file, and must not lead out of the folder.
    const script = /^[a-z0-9_]{1,200}$/.test(name)
      ? await readFile(join(migrationsDir, name, 'migration.sql')).catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return null;
          throw error;
        })
      : null;
    if (script === null) {
      throw new OperatorError(
        `The backup is of a newer version of Corral: it has the migration ${name}. Restore it with that version.`,
      );
    }
    if (createHash('sha256').update(script).digest('hex') !== checksum) {
      throw new OperatorError(
        `The migration ${name} of the backup differs from that of this version. Restore it with the version that wrote it.`,
      );
    }
  }
}
