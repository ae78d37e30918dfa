import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { connectPool, type Pool } from '@corral/database';
import { createEmptyDatabase, patientPool, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

let admin: TestAdmin;
let file: string;
beforeAll(async () => {
  admin = await startAdmin();
  await admin.json('team', 'create', 'acme');
  await admin.json('user', 'create', 'ann@example.org');
  await admin.json('team', 'add-member', 'acme', 'ann@example.org', '--role', 'admin');
  await admin.json('token', 'issue', 'acme', '--name', 'ci', '--types', 'A,TXT');
  await admin.pool.query(
    `INSERT INTO dns_zone (id, name, body, synced_at) VALUES (7, '${ZONE}', '{}', now());
     INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
     VALUES (7, 'www.acme', 'TXT', 'acme', 1, '{"value": "\\"ü \\\\ \\n\\""}');
     INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, state, request_body, request_hash, lease_until)
     SELECT id, 'upstream', 7, 'www.acme', 'A', 'create', 'pending', '{}', '\\x00ff', now() + interval '1 hour' FROM team`,
  );
  file = join(admin.folder, 'corral.backup');
  const { code, out, err } = await admin.run('backup', file);
  if (code !== 0) throw new Error(`${out}${err}`);
});
afterAll(() => admin.stop());

let target: TestDatabase;
let pool: Pool;
beforeEach(async () => {
  target = await createEmptyDatabase();
  pool = connectPool({
    databaseUrl: target.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
});
afterEach(async () => {
  await pool.end();
  await target.drop();
});

const restore = (from = file, ...options: string[]) =>
  admin.runWith({ DATABASE_URL: target.url, DNS_ZONE_NAME: ZONE }, 'restore', ...options, from);
const rowsOf = async (on: Pool, table: string): Promise<string[]> =>
  (await on.query<{ row: string }>(`SELECT row_to_json(each)::text AS row FROM ${table} each ORDER BY 1`)).rows.map(
    ({ row }) => row,
  );
const countTables = async (): Promise<number> =>
  (await pool.query("SELECT FROM pg_tables WHERE schemaname = 'public'")).rowCount ?? 0;

describe('a backup', () => {
  it('is readable by its owner only, and says that it contains no secret keys', async () => {
    const other = join(admin.folder, 'second.backup');

    const { out } = await admin.run('backup', other);

    expect((await stat(other)).mode & 0o777).toBe(0o600);
    expect(out).toContain('does not contain the secret keys');
  });

  it('does not replace a file', async () => {
    expect(await admin.run('backup', file)).toMatchObject({ code: 1, err: expect.stringContaining('exists already') });
  });
});

describe('a restore', () => {
  it('brings back every row, begins a hold, makes pending writes due and gives no number twice', async () => {
    expect(await restore()).toMatchObject({ code: 0, out: expect.stringContaining('A hold is in force') });

    for (const table of ['team', 'app_user', 'membership', 'dns_token', 'dns_zone', 'dns_rrset', 'team_change_lock']) {
      expect(await rowsOf(pool, table)).toEqual(await rowsOf(admin.pool, table));
    }
    expect(await rowsOf(pool, 'team_event')).toEqual([]);
    const { rows } = await pool.query('SELECT reason, backup_taken_at IS NOT NULL AS taken FROM installation_hold');
    expect(rows).toEqual([{ reason: 'restored', taken: true }]);

    const before = await admin.pool.query<{ id: number }>('SELECT max(id) AS id FROM dns_audit_entry');
    const { rows: pending } = await pool.query<{ due: boolean; next: number }>(
      `SELECT lease_until <= clock_timestamp() AS due, nextval('dns_audit_entry_id_seq') AS next
       FROM dns_audit_entry WHERE state = 'pending'`,
    );
    expect(pending[0]?.due).toBe(true);
    expect(pending[0]?.next).toBeGreaterThan((before.rows[0]?.id ?? 0) + 1_000);
  });

  it('refuses a database that is not empty', async () => {
    await pool.query('CREATE TABLE mine (id int)');

    expect(await restore()).toMatchObject({
      code: 1,
      err: expect.stringContaining('not empty: it has the table public.mine'),
    });
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['is cut off', (bytes) => bytes.subarray(0, bytes.length - 40)],
    [
      'has a changed row',
      (bytes) => gzipSync(gunzipSync(bytes).toString().replace('ann@example.org', 'eve@example.org')),
    ],
    [
      'lacks a row',
      (bytes) =>
        gzipSync(
          gunzipSync(bytes)
            .toString()
            .replace(/^R.*\n/m, ''),
        ),
    ],
    [
      'lacks its end',
      (bytes) =>
        gzipSync(
          gunzipSync(bytes)
            .toString()
            .replace(/^C.*\n/m, ''),
        ),
    ],
    ['is another file', () => Buffer.from('not a backup')],
    ['is empty', () => Buffer.alloc(0)],
  ])('refuses a file that %s, and creates no table', async (_what, damage) => {
    const damaged = join(admin.folder, 'damaged.backup');
    await writeFile(damaged, damage(await readFile(file)));

    const { code, err } = await restore(damaged);

    expect(code).toBe(1);
    expect(err).toContain('cannot be restored');
    expect(await countTables()).toBe(0);
  });

  it('refuses a backup of a newer version', async () => {
    const newer = join(admin.folder, 'newer.backup');
    const text = gunzipSync(await readFile(file)).toString();
    await writeFile(
      newer,
      gzipSync(text.replace('"migrations":[', '"migrations":[{"name":"20990101000000_x","checksum":""},')),
    );

    expect(await restore(newer)).toMatchObject({ code: 1, err: expect.stringContaining('newer version of Corral') });
  });

  it('migrates a backup of an older level to this version', async () => {
    const older = join(admin.folder, 'older.backup');
    const lines = gunzipSync(await readFile(file))
      .toString()
      .split('\n');
    const manifest = JSON.parse((lines[0] as string).slice(1));
    // What the newest migration adds: two columns, and a table with a section of its own.
    manifest.migrations.pop();
    manifest.tables = manifest.tables.filter((table: string) => table !== 'operator_act');
    manifest.sequences = manifest.sequences.filter(({ name }: { name: string }) => name !== 'operator_act_id_seq');
    const added = /^T\{"table":"operator_act".*\n(R.*\n)*E.*\n/m;
    const rest = lines
      .slice(1)
      .map((line) => (line.startsWith('T') ? line.replace(/,"(dns_records_max|operator)"/, '') : line))
      .join('\n')
      .replace(added, '')
      .replace(/^C.*$/m, `C${JSON.stringify({ tables: manifest.tables.length })}`);
    await writeFile(older, gzipSync(`M${JSON.stringify(manifest)}\n${rest}`));

    expect(await restore(older)).toMatchObject({ code: 0 });
    expect((await pool.query('SELECT before_body FROM dns_audit_entry')).rowCount).toBe(1);
  });

  it('only checks the file with --check', async () => {
    expect(await restore(file, '--check')).toMatchObject({ code: 0, out: expect.stringContaining('is complete') });
    expect(await countTables()).toBe(0);
  });

  it('names a file that does not exist', async () => {
    expect(await restore('/nowhere/x.backup')).toMatchObject({ code: 1, err: expect.stringContaining('(ENOENT)') });
  });
});
