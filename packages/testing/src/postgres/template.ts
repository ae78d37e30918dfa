import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { databaseUrl, onConnection } from './connection.js';

const MIGRATIONS_DIR = fileURLToPath(new URL('../../../../prisma/migrations', import.meta.url));

/** Arbitrary, but used for nothing else. */
const TEMPLATE_LOCK = 7_237_001;

type Migration = { name: string; sql: string; checksum: string };

/**
 * Creates the migrated template database, once per server and content of `prisma/migrations`.
 *
 * Applies the files itself, because the tests of `packages/database` depend on this package. It leaves the same
 * migration record, so that a process that migrates at start finds nothing pending.
 *
 * @returns the name of the template
 */
export async function ensureTemplate(serverUrl: string): Promise<string> {
  const migrations = await readMigrations();
  const contents = createHash('sha256').update(JSON.stringify(migrations)).digest('hex');
  const name = `template_${contents.slice(0, 16)}`;
  await onConnection(serverUrl, async (client) => {
    if (await exists(client, name)) return;
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]); // released with the connection
    if (await exists(client, name)) return;
    const unfinished = `${name}_unfinished`;
    await client.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${unfinished} TEMPLATE template0`);
    await onConnection(databaseUrl(serverUrl, unfinished), (inside) => migrate(inside, migrations));
    await client.query(`ALTER DATABASE ${unfinished} WITH ALLOW_CONNECTIONS false`);
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
  });
  return name;
}

async function exists(client: pg.Client, database: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
  return rowCount === 1;
}

async function readMigrations(): Promise<Migration[]> {
  const entries = await readdir(MIGRATIONS_DIR, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(MIGRATIONS_DIR, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** Applies all migrations to an empty database, without the engine that the command of operators loads for that. */
export async function migrateEmpty(url: string): Promise<void> {
  const migrations = await readMigrations();
  await onConnection(url, (client) => migrate(client, migrations));
}

/** The table as created by Prisma. */
const MIGRATIONS_TABLE = `
CREATE TABLE "_prisma_migrations" (
    "id"                    VARCHAR(36) PRIMARY KEY NOT NULL,
    "checksum"              VARCHAR(64) NOT NULL,
    "finished_at"           TIMESTAMPTZ,
    "migration_name"        VARCHAR(255) NOT NULL,
    "logs"                  TEXT,
    "rolled_back_at"        TIMESTAMPTZ,
    "started_at"            TIMESTAMPTZ NOT NULL DEFAULT now(),
    "applied_steps_count"   INTEGER NOT NULL DEFAULT 0
)`;

async function migrate(client: pg.Client, migrations: Migration[]): Promise<void> {
  await client.query(MIGRATIONS_TABLE);
  for (const { name, sql, checksum } of migrations) {
    await client.query(sql).catch((cause: unknown) => {
      throw new Error(`prisma/migrations/${name} cannot be applied.`, { cause });
    });
    await client.query(
      `INSERT INTO "_prisma_migrations" (id, checksum, migration_name, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), 1)`,
      [randomUUID(), checksum, name],
    );
  }
}
