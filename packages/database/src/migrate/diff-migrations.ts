import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { applyMigrations } from './apply-migrations.js';
import { connectWhenUp } from './connect-when-up.js';
import { writeMigration } from './migration-files.js';
import { withSchemaEngine } from './schema-engine.js';

type DiffOptions = {
  /** An empty database for applying all migrations. Drop it afterwards. */
  databaseUrl: string;
  migrationsDir: string;
  schemaFile: string;
};

/**
 * Compares the migrations with `schema.prisma`.
 *
 * @returns the SQL that brings a fully migrated database to the schema; empty when they agree
 */
export async function diffMigrations({ databaseUrl, migrationsDir, schemaFile }: DiffOptions): Promise<string> {
  await applyMigrations({ databaseUrl, migrationsDir });
  const content = await readFile(schemaFile, 'utf8');
  const files = [{ path: basename(schemaFile), content }];
  const { exitCode, stdout } = await withSchemaEngine(databaseUrl, (engine) =>
    engine.diff({
      from: { tag: 'schemaDatasource', files, configDir: dirname(schemaFile) }, // the engine's own database
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  return exitCode === 0 ? '' : (stdout ?? '');
}

/**
 * Writes a migration that brings the migrations to the schema. Review it before committing: the engine knows the
 * target, not your data.
 *
 * @returns the path of the script, or null when migrations and schema agree
 */
export async function createMigration(name: string, options: DiffOptions & { now: Date }): Promise<string | null> {
  const sql = await diffMigrations(options);
  return sql === '' ? null : writeMigration({ migrationsDir: options.migrationsDir, name, sql, now: options.now });
}

/**
 * Creates an empty database for `work` and drops it afterwards.
 *
 * @param serverUrl any database on a server where the user may create databases
 */
export async function withScratchDatabase<T>(serverUrl: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const name = `corral_scratch_${randomBytes(6).toString('hex')}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const server = await connectWhenUp(serverUrl, { timeoutMs: 30_000, log: () => undefined });
  try {
    await server.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    try {
      return await work(url.toString());
    } finally {
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  } finally {
    await server.end();
  }
}
