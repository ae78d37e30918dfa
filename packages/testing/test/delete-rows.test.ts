import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { databaseUrl, onConnection } from '../src/postgres/connection.js';
import { deleteRows } from '../src/postgres/delete-rows.js';
import { type PostgresServer, startPostgres } from '../src/postgres/start-postgres.js';
import { ensureTemplate } from '../src/postgres/template.js';
import { createTestDatabase } from '../src/postgres/test-database.js';

const rows = async (url: string, sql: string): Promise<unknown[]> =>
  (await onConnection(url, (client) => client.query(sql))).rows;

describe('createTestDatabase', () => {
  it('creates a separate database for each caller, even concurrently', async () => {
    const databases = await Promise.all([1, 2, 3, 4].map(() => createTestDatabase()));
    await Promise.all(databases.map(({ url }) => rows(url, 'CREATE TABLE mine ()')));

    const names = await Promise.all(databases.map(({ url }) => rows(url, 'SELECT current_database() AS name')));

    expect(new Set(names.map((found) => JSON.stringify(found))).size).toBe(4);
    await Promise.all(databases.map((database) => database.drop()));
  });

  it('drops a database in use, and can be repeated', async () => {
    const database = await createTestDatabase();
    await onConnection(database.url, async () => {
      await database.drop();
      await database.drop();
    });

    await expect(rows(database.url, 'SELECT 1')).rejects.toThrow('does not exist');
  });
});

describe('deleteRows', () => {
  it('empties every table despite foreign keys, and keeps the record of migrations', async () => {
    const database = await createTestDatabase();
    await onConnection(database.url, async (client) => {
      const read = async (sql: string) => (await client.query(sql)).rows;
      const migrations = await read('SELECT migration_name FROM _prisma_migrations ORDER BY 1');
      await client.query(`WITH made AS (INSERT INTO team (slug) VALUES ('acme') RETURNING id)
        INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id)
        SELECT id, 'main', 'main', 'hcloud', '{}', 'sealed', 'k1' FROM made`);

      await deleteRows(client);

      expect(await read('SELECT 1 FROM team UNION ALL SELECT 1 FROM connection')).toEqual([]);
      expect(await read('SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toEqual(migrations);
      const orphan = client.query(`INSERT INTO membership (team_id, user_id, role)
        VALUES (gen_random_uuid(), gen_random_uuid(), 'member')`);
      await expect(orphan).rejects.toThrow(/foreign key/); // enforced again
    });
    await database.drop();
  });
});

describe('ensureTemplate', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('is created once for concurrent callers, and again after a migration is added', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-template-'));
    await addMigration(folder, '20260101000000_one', 'CREATE TABLE one (); SELECT pg_sleep(0.05);');

    const names = await Promise.all([1, 2, 3, 4].map(() => ensureTemplate(server.url, folder)));
    await addMigration(folder, '20260102000000_two', 'CREATE TABLE two ();');
    const later = await ensureTemplate(server.url, folder);

    expect(new Set(names).size).toBe(1);
    expect(later).not.toBe(names[0]);
    await rows(server.url, `CREATE DATABASE copy TEMPLATE ${later}`);
    const found = await rows(
      databaseUrl(server.url, 'copy'),
      "SELECT to_regclass('one'), to_regclass('two')::text AS two",
    );
    expect(found).toMatchObject([{ two: 'two' }]);
    await rm(folder, { recursive: true });
  });

  it('names a migration that fails, and does not use its partial result', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corral-template-'));
    await addMigration(folder, '20260101000000_wrong', 'CREATE TABEL one ();');

    const first = ensureTemplate(server.url, folder);
    const second = first.catch(() => ensureTemplate(server.url, folder));

    await expect(first).rejects.toThrow('20260101000000_wrong');
    await expect(second).rejects.toThrow('20260101000000_wrong');

    await rm(folder, { recursive: true });
  });
});

async function addMigration(folder: string, name: string, sql: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'migration.sql'), sql);
}
