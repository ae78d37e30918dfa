import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { connectPool, type Pool } from '@corral/database';
import { createEmptyDatabase, patientPool, type TestDatabase } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

describe('backup', () => {
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

  const poolOf = ({ url }: TestDatabase): Pool =>
    connectPool({ databaseUrl: url, applicationName: 'test', ...patientPool, onIdleError: () => undefined });

  let target: TestDatabase;
  let pool: Pool;
  beforeEach(async () => {
    target = await createEmptyDatabase();
    pool = poolOf(target);
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
  it('a backup is readable by its owner only, says that it contains no secret keys, and replaces no file', async () => {
    const other = join(admin.folder, 'second.backup');

    const { out } = await admin.run('backup', other);
    const again = await admin.run('backup', other);

    expect((await stat(other)).mode & 0o777).toBe(0o600);
    expect(out).toContain('does not contain the secret keys');
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('already exists') });
  });

  describe('a backup that runs by itself', () => {
    const backupsCounted = async (): Promise<string[]> =>
      (await admin.json<{ acts: { action: string; targetName: string }[] }>('operators')).acts
        .filter(({ action }) => action === 'database.backup')
        .map(({ targetName }) => targetName);

    it('is written to standard output, and can be restored from there', async () => {
      const { code, out, err, bytes } = await admin.run('backup', '-');
      const stored = join(admin.folder, 'streamed.backup');
      await writeFile(stored, bytes);

      expect({ code, out, err }).toEqual({ code: 0, out: '', err: expect.stringContaining('rows of') });
      expect(await restore(stored, '--check')).toMatchObject({ code: 0, out: expect.stringContaining('is complete') });
    });

    it('gets a name in a folder, where old backups and what interrupted ones left are removed, and no running one', async () => {
      const folder = join(admin.folder, 'backups');
      const [old, older] = ['corral-20260102T000000Z.backup', 'corral-20260101T000000Z.backup'];
      await mkdir(folder);
      const [interrupted, running] = [`${older}.partial`, `${old}.partial`];
      for (const name of [old, older, interrupted, running, 'notes.txt']) await writeFile(join(folder, name), '');
      const twoDaysAgo = Date.now() / 1_000 - 2 * 86_400;
      await utimes(join(folder, interrupted), twoDaysAgo, twoDaysAgo);

      const { file, removed } = await admin.json<{ file: string; removed: string[] }>('backup', folder, '--keep', '2');

      expect(file).toMatch(/corral-\d{8}T\d{6}Z\.backup$/);
      expect(removed.sort()).toEqual([older, interrupted]);
      expect((await readdir(folder)).sort()).toEqual([old, running, basename(file), 'notes.txt'].sort());
    });

    it('does not count until it is in a safe place, if that is another one', async () => {
      await admin.json('backup', join(admin.folder, 'to-upload.backup'), '--no-count');
      expect(await backupsCounted()).not.toContain('to-upload.backup');

      await admin.json('backup-stored', 'to-upload.backup');
      expect(await backupsCounted()).toContain('to-upload.backup');
    });
  });

  describe('a restore', () => {
    it('brings back every row, begins a hold, makes pending writes due and gives no number twice', async () => {
      expect(await restore()).toMatchObject({ code: 0, out: expect.stringContaining('A hold is in force') });

      const tables = ['team', 'app_user', 'membership', 'dns_token', 'dns_zone', 'dns_rrset', 'team_change_lock'];
      for (const table of tables) {
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

    const edited = (from: string | RegExp, to: string) => (bytes: Buffer) =>
      gzipSync(gunzipSync(bytes).toString().replace(from, to));

    it.each<[string, (bytes: Buffer) => Buffer, string]>([
      ['is cut off', (bytes) => bytes.subarray(0, bytes.length - 40), 'cannot be restored'],
      ['has a changed row', edited('ann@example.org', 'eve@example.org'), 'cannot be restored'],
      ['lacks a row', edited(/^R.*\n/m, ''), 'cannot be restored'],
      ['lacks its end', edited(/^C.*\n/m, ''), 'cannot be restored'],
      ['is another file', () => Buffer.from('not a backup'), 'cannot be restored'],
      [
        'is of a newer version',
        edited('"migrations":[', '"migrations":[{"name":"20990101000000_x","checksum":""},'),
        'newer version of Corral',
      ],
    ])('refuses a file that %s, and creates no table', async (_what, change, why) => {
      const changed = join(admin.folder, 'changed.backup');
      await writeFile(changed, change(await readFile(file)));

      expect(await restore(changed)).toMatchObject({ code: 1, err: expect.stringContaining(why) });
      expect((await pool.query("SELECT FROM pg_tables WHERE schemaname = 'public'")).rowCount).toBe(0);
    });

    it('migrates a backup of an older version', async () => {
      const migrations = join(admin.folder, 'migrations');
      await cp(fileURLToPath(new URL('../../../prisma/migrations', import.meta.url)), migrations, { recursive: true });
      await mkdir(join(migrations, '20990101000000_later'));
      await writeFile(
        join(migrations, '20990101000000_later', 'migration.sql'),
        "ALTER TABLE dns_rrset ADD COLUMN later TEXT NOT NULL DEFAULT 'later';",
      );
      const env = { DATABASE_URL: target.url, DNS_ZONE_NAME: ZONE, MIGRATIONS_DIR: migrations };

      expect(await admin.runWith(env, 'restore', file)).toMatchObject({ code: 0 });
      expect((await pool.query('SELECT later FROM dns_rrset')).rows).toEqual([{ later: 'later' }]);
      expect((await pool.query('SELECT FROM dns_audit_entry')).rowCount).toBe(1);
    });
  });
});

describe('hold', () => {
  let admin: TestAdmin;
  beforeAll(async () => {
    admin = await startAdmin();
  });
  afterAll(() => admin.stop());
  beforeEach(() => admin.empty());

  const TAKEN_AT = '2026-01-01T00:00:00Z';

  interface Report {
    readonly hold: { readonly id: string };
    readonly findings: readonly { readonly kind: string; readonly name: string; readonly finding: string }[];
    readonly missing: readonly string[];
    readonly isComplete: boolean;
  }
  const readReport = () => admin.json<Report>('hold', 'report');

  /** One started cluster and one adopted server of a team. */
  async function addTeam(): Promise<{ clusterId: string; serverRowId: string }> {
    const { rows } = await admin.pool.query<{ clusterId: string; serverRowId: string }>(
      `WITH team AS (INSERT INTO team (slug) VALUES ('acme') RETURNING id
     ), connection AS (
       INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id, phase)
       SELECT id, 'main', 'main', 'hcloud', '{}', $1, 'k1', 'Ready' FROM team RETURNING id, team_id
     ), cluster AS (
       INSERT INTO cluster (team_id, connection_id, name, spec, desired_hash, started_at, generation)
       SELECT team_id, id, 'web', '{}', 'h', now(), 3 FROM connection RETURNING id
     ), server AS (
       INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind, phase)
       SELECT team_id, id, 42, 'cpx31', 'fsn1', 'amd64', 'cloud', 'Ready' FROM connection RETURNING id
     )
     SELECT cluster.id AS "clusterId", server.id AS "serverRowId" FROM cluster, server`,
      [randomBytes(40)],
    );
    return rows[0] as { clusterId: string; serverRowId: string };
  }

  /** Writes a finding as a reconciler does. */
  const note = (kind: string, targetId: string, finding: string) =>
    admin.pool.query(
      `INSERT INTO hold_finding (hold_id, target_kind, target_id, finding, message)
     SELECT id, $1, $2, $3, 'why' FROM installation_hold WHERE ended_at IS NULL`,
      [kind, targetId, finding],
    );

  describe('a hold', () => {
    it('begins once, is shown, and ends with its id', async () => {
      const { id } = await admin.json<{ id: string }>('hold', 'begin');

      expect(await admin.run('hold', 'begin')).toMatchObject({
        code: 1,
        err: expect.stringContaining('already in force'),
      });
      expect((await admin.run('hold', 'status')).out).toContain(id);
      expect(await admin.run('resume', 'another')).toMatchObject({ code: 1, err: expect.stringContaining(id) });
      expect(await admin.run('resume', id)).toMatchObject({ code: 0 });
      expect((await admin.run('hold', 'status')).out).toContain('No hold');
      expect(await admin.run('hold', 'report')).toMatchObject({ code: 1, err: expect.stringContaining('No hold') });
    });

    it('makes every cluster and server due, so that they are read', async () => {
      await addTeam();

      await admin.json('hold', 'begin');

      const { rows } = await admin.pool.query(
        `SELECT cluster.due_at IS NOT NULL AS cluster, server.due_at IS NOT NULL AS server FROM cluster, adopted_server AS server`,
      );
      expect(rows).toEqual([{ cluster: true, server: true }]);
    });

    it('of a database that was restored otherwise ends sessions and gives no number twice', async () => {
      await addTeam();
      const next = async () =>
        (await admin.pool.query<{ next: number }>("SELECT nextval('audit_entry_id_seq') AS next")).rows[0]?.next ?? 0;
      const before = await next();

      await admin.json('hold', 'begin', '--restored-from', TAKEN_AT);

      expect(await next()).toBeGreaterThan(before + 1_000);
      expect((await admin.pool.query('SELECT 1 FROM team_event')).rowCount).toBe(0);
    });
  });

  describe('the end of a hold after a restore', () => {
    it('is refused until everything was read', async () => {
      await addTeam();
      await admin.pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (7, '${ZONE}', '{}', now())`);
      const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);

      const report = await readReport();

      expect(report.isComplete).toBe(false);
      expect(report.missing).toHaveLength(4);
      expect(await admin.run('resume', id)).toMatchObject({ code: 1, err: expect.stringContaining('incomplete') });
    });

    it('is refused while a comparison has left record sets out', async () => {
      await admin.pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (8, '${ZONE}', '{}', now())
      ON CONFLICT DO NOTHING`);
      await admin.json('hold', 'begin', '--restored-from', TAKEN_AT);
      const sync = (skipped: number, added: number) =>
        admin.pool.query(
          `INSERT INTO dns_sync_run (zone_name, reason, state, skipped, added, started_at)
         VALUES ($1, 'schedule', 'succeeded', $2, $3, clock_timestamp())`,
          [ZONE, skipped, added],
        );

      await sync(4, 2);
      const early = await readReport();
      await sync(0, 1);
      const late = await readReport();

      expect(early.missing).toEqual([expect.stringContaining('left out')]);
      expect(late).toMatchObject({ isComplete: true, syncs: [{ skipped: 0, added: 3 }] });
    });

    it('keeps clusters that are ahead, fails servers that were rebuilt, and lets others continue', async () => {
      const { clusterId, serverRowId } = await addTeam();
      const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);
      await note('Cluster', clusterId, 'shoot_ahead');
      await note('AdoptedServer', serverRowId, 'rebuilt_since');
      await note('Shoot', 'garden-x/cunknown', 'unknown_shoot');
      await note('Garden', 'shoots', 'as_recorded');

      const { findings, isComplete } = await readReport();
      const text = (await admin.run('hold', 'report')).out;
      const ended = await admin.json('resume', id);

      expect(isComplete).toBe(true);
      expect(findings.map(({ finding }) => finding).sort()).toEqual(['rebuilt_since', 'shoot_ahead', 'unknown_shoot']);
      expect(text).toContain('garden-x/cunknown');
      expect(ended).toEqual({ keptClusters: 1, failedServers: 1, unreadServers: 0 });
      const { rows } = await admin.pool.query('SELECT kept_generation FROM cluster');
      expect(rows).toMatchObject([{ kept_generation: 3 }]);
      expect((await admin.pool.query("SELECT 1 FROM adopted_server WHERE phase = 'Failed'")).rowCount).toBe(1);
    });

    it('leaves what was not read as it is, if an operator insists', async () => {
      await addTeam();
      const { id } = await admin.json<{ id: string }>('hold', 'begin', '--restored-from', TAKEN_AT);

      const before = await admin.pool.query('SELECT phase, generation FROM adopted_server');
      expect(await admin.json('resume', id, '--incomplete')).toEqual({
        keptClusters: 1,
        failedServers: 0,
        unreadServers: 1,
      });
      expect((await admin.pool.query('SELECT phase, generation FROM adopted_server')).rows).toEqual(before.rows);
      expect((await admin.pool.query('SELECT unread_hold_id FROM adopted_server')).rows).toEqual([
        { unread_hold_id: id },
      ]);
      expect(await admin.run('resume', id, '--incomplete')).toMatchObject({
        code: 1,
        err: expect.stringContaining('No hold is in force'),
      });
    });

    it('lets an operator release a kept cluster', async () => {
      const { clusterId } = await addTeam();
      await admin.pool.query('UPDATE cluster SET kept_generation = 3 WHERE id = $1', [clusterId]);

      expect(await admin.run('hold', 'release', 'acme', 'web')).toMatchObject({ code: 0 });
      expect(await admin.run('hold', 'release', 'acme', 'web')).toMatchObject({ code: 1 });
    });
  });
});
