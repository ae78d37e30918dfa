import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { applyMigrations } from './apply-migrations.js';
import { writeMigration } from './migration-files.js';
import { withSchemaEngine } from './schema-engine.js';

export type DiffOptions = {
  /** An empty database, to be dropped afterwards: all migrations are applied to it. */
  databaseUrl: string;
  migrationsDir: string;
  schemaFile: string;
};

/**
 * What is missing between the migrations and `schema.prisma`.
 *
 * @returns the SQL that would bring a database after all migrations to the schema; empty when they agree
 */
export async function diffMigrations({ databaseUrl, migrationsDir, schemaFile }: DiffOptions): Promise<string> {
  await applyMigrations({ databaseUrl, migrationsDir });
  const content = await readFile(schemaFile, 'utf8');
  const files = [{ path: basename(schemaFile), content }];
  const { exitCode, stdout } = await withSchemaEngine(databaseUrl, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', files, configDir: dirname(schemaFile) }, // the database the engine is on
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  return exitCode === 0 ? '' : (stdout ?? '');
}

/**
 * Writes the migration that brings the migrations to the schema. Read it before you commit it: the engine knows the
 * goal, not your data.
 *
 * @returns the path of the script, or null when migrations and schema agree
 */
export async function createMigration(name: string, options: DiffOptions & { now: Date }): Promise<string | null> {
  const sql = await diffMigrations(options);
  return sql === '' ? null : writeMigration({ migrationsDir: options.migrationsDir, name, sql, now: options.now });
}
