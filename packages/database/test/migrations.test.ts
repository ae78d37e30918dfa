import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
// Imported like other users do: Prisma's engine has one instance per process, which earlier files may have created.
import { applyMigrations, createMigration, diffMigrations } from '@corral/database';
import { createEmptyDatabase, freePort, startPostgres, type TestDatabase } from '@corral/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

const migrationsDir = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
const schemaFile = fileURLToPath(new URL('../../../prisma/schema.prisma', import.meta.url));

let database: TestDatabase;
let folder: string;

beforeEach(async () => {
  database = await createEmptyDatabase();
  folder = await mkdtemp(join(tmpdir(), 'corral-migrations-'));
  await chmod(folder, 0o755); // Postgres is another user when we are root
});

afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('applyMigrations', () => {
  it('applies every migration to a new database, and nothing the second time', async () => {
    const names = await migrationNames(migrationsDir);

    const first = await applyMigrations({ databaseUrl: database.url, migrationsDir });
    const second = await applyMigrations({ databaseUrl: database.url, migrationsDir });

    expect(first).toEqual(names);
    expect(second).toEqual([]);
    expect(await query(database.url, recordOfMigrations)).toEqual(
      names.map((migration_name) => ({ migration_name, applied_steps_count: 1, finished: true })),
    );
  });

  it('applies each migration once when several processes migrate concurrently', async () => {
    const all = await Promise.all([1, 2, 3].map(() => applyMigrations({ databaseUrl: database.url, migrationsDir })));

    expect(all.flat()).toEqual(await migrationNames(migrationsDir));
  });

  it('refuses a schema from before the first migration, and says how to get an empty one', async () => {
    await applyMigrations({ databaseUrl: database.url, migrationsDir });
    await query(database.url, `UPDATE _prisma_migrations SET migration_name = '20200101000000_before'`);

    const applied = applyMigrations({ databaseUrl: database.url, migrationsDir });

    await expect(applied).rejects.toThrow(/20200101000000_before.*npm run reset/);
  });

  it('rolls back a failed migration, names it, and refuses to continue without manual repair', async () => {
    await addMigration(folder, '20200101000000_half', 'CREATE TABLE half (); SELECT no_such_function();');
    const migrate = () => applyMigrations({ databaseUrl: database.url, migrationsDir: folder });

    await expect(migrate()).rejects.toThrow('no_such_function');

    await expect(migrate()).rejects.toThrow('`20200101000000_half` migration started at');
    expect(await query(database.url, "SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
  });

  it('waits for a Postgres that is still starting', async () => {
    const port = await freePort();
    const migration = startPostgresAfterFirstRefusal(port);

    await expect(migration).resolves.toEqual(await migrationNames(migrationsDir));
  });
});

describe('the migrations of this repository', () => {
  it('match schema.prisma; if this fails, run `node packages/database/dist/migrate/main.js new <name>`', async () => {
    expect(await diffMigrations({ databaseUrl: database.url, migrationsDir, schemaFile })).toBe('');
  });
});

describe('createMigration', () => {
  const modelled =
    'datasource db {\n  provider = "postgresql"\n}\nmodel Herd {\n  id Int @id\n  name String @unique\n}\n';

  it('writes the SQL between migrations and schema, after which they agree', async () => {
    const schema = join(folder, 'schema.prisma');
    const migrations = join(folder, 'migrations');
    await mkdir(migrations);
    await writeFile(schema, modelled);
    const options = { databaseUrl: database.url, migrationsDir: migrations, schemaFile: schema };

    const written = await createMigration('add_herd', { ...options, now: new Date('2026-01-02T03:04:05Z') });

    expect(written).toBe(join(migrations, '20260102030405_add_herd', 'migration.sql'));
    expect(await readFile(String(written), 'utf8')).toContain('CREATE TABLE "Herd"');
    expect((await readdir(migrations)).sort()).toEqual(['20260102030405_add_herd', 'migration_lock.toml']);
    expect(await diffMigrations(options)).toBe('');
  });
});

const recordOfMigrations = `
  SELECT migration_name, applied_steps_count, finished_at IS NOT NULL AS finished
  FROM _prisma_migrations ORDER BY migration_name`;

async function migrationNames(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => /^\d{14}_/.test(name)).sort();
}

async function addMigration(dir: string, name: string, sql: string): Promise<void> {
  await mkdir(join(dir, name), { recursive: true });
  await writeFile(join(dir, name, 'migration.sql'), sql);
}

async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The password is fixed by an earlier start, because the URL must be known before the server runs. */
async function startPostgresAfterFirstRefusal(port: number): Promise<string[]> {
  const dataDir = join(folder, 'postgres');
  const earlier = await startPostgres({ dataDir, port });
  await earlier.stop();
  let server: Promise<{ stop(): Promise<void> }> | undefined;
  const log = () => {
    server ??= startPostgres({ dataDir, port });
  };
  try {
    return await applyMigrations({ databaseUrl: earlier.url, migrationsDir, log });
  } finally {
    await (await server)?.stop();
  }
}
