import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWellFormedDnsToken } from '@corral/auth';
import { connectPool } from '@corral/database';
import type { CourseRecord } from '@corral/dns-data';
import { createEmptyDatabase, startProcess } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

let admin: TestAdmin;

beforeAll(async () => {
  admin = await startAdmin();
});

afterAll(() => admin.stop());

describe('admin', () => {
  beforeEach(() => admin.empty());

  it('team creates a team and lists it', async () => {
    const created = await admin.run('team', 'create', 'acme');
    const listed = await admin.run('team', 'list');

    expect(created).toMatchObject({ code: 0, err: '' });
    expect(listed.out).toMatch(/^TEAM {2}CREATED {19}ID {36}SUSPENDED\nacme {2}20/);
  });

  describe('team delete', () => {
    const query = async (text: string) => (await admin.pool.query(text)).rows;
    const remove = (...options: string[]) => admin.run('team', 'delete', 'acme', ...options);
    beforeEach(async () => {
      await admin.run('team', 'create', 'acme');
      await admin.run('team', 'suspend', 'acme');
    });

    /** A member, an invitation, a token, a service account with a token, a webhook, a connection and a demo, each of two teams. */
    async function givenAllOfTwoTeams(): Promise<void> {
      await admin.run('team', 'create', 'globex');
      await admin.run('user', 'create', 'ann@acme.test');
      for (const slug of ['acme', 'globex']) {
        await admin.run('team', 'add-member', slug, 'ann@acme.test');
        await admin.run('token', 'issue', slug, '--name', 'ci');
      }
      await admin.pool.query(`
        INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES (2, 'demo.example.test', '{}', true, now());
        UPDATE team SET project_namespace = 'garden-' || slug;
        INSERT INTO invitation (team_id, email, role, invited_by, expires_at, mail_due_at)
        SELECT team.id, 'bob@acme.test', 'member', app_user.id, now() + interval '1 day', now() FROM team, app_user;
        WITH account AS (INSERT INTO service_account (team_id, name, role, clusters, actions, created_by)
                         SELECT team.id, 'ci', 'member', '{*}', '{read}', app_user.id FROM team, app_user RETURNING *)
        INSERT INTO service_account_token (team_id, account_id, created_by, hash, expires_at)
        SELECT team_id, id, created_by, sha256(id::text::bytea), now() + interval '1 day' FROM account;
        INSERT INTO webhook (team_id, name, url, kinds, sealed_secrets, secrets_key_id, position_xid, position_id, position_at, due_at,
                             created_by)
        SELECT team.id, 'chat', 'https://hooks.test', '{}', '', 'k1', 0, 0, now(), now(), app_user.id FROM team, app_user;
        INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id, garden_name)
        SELECT id, 'main', 'Main', 'hcloud', '{}', '', 'k1', 'k-' || slug FROM team;
        INSERT INTO demo (zone_id, label, name, team_id, ttl_seconds, created_at, expires_at)
        SELECT 2, slug || '1', 'x', id, 600, now(), now() + interval '1 hour' FROM team`);
    }
    const givenRecordSet = () =>
      admin.pool.query(`
        INSERT INTO dns_zone (id, name, body, synced_at) VALUES (1, '${ZONE}', '{}', now());
        INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
        VALUES (1, 'www.acme', 'A', 'acme', 1, '{}')`);

    const withConnection = `
      WITH made AS (INSERT INTO connection (team_id, ref, name, provider, provider_config, sealed_token, token_key_id)
                    SELECT id, 'main', 'Main', 'hcloud', '{}', '', 'k1' FROM team RETURNING id, team_id)`;

    it('ends all access to the team and to no other one, and leaves what remains to a reconciler', async () => {
      await givenAllOfTwoTeams();

      const listed = await remove();
      const done = await remove('--yes');

      expect(listed.out).toMatch(
        /live demos +1\nDNS tokens +1\nconnections +1\nservice accounts +1\nwebhooks +1\nmembers +1\n/,
      );
      expect(listed.out).toContain('Nothing has changed. To delete team acme for good, add --yes.\n');
      expect(done).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Team acme is deleted\./) });
      const left = await query(`
        SELECT slug, (SELECT count(*)::int FROM membership WHERE team_id = team.id) AS members,
               (SELECT count(*)::int FROM invitation WHERE team_id = team.id AND revoked_at IS NULL) AS invitations,
               (SELECT count(*)::int FROM dns_token WHERE team_id = team.id AND revoked_at IS NULL) AS tokens,
               (SELECT count(*)::int FROM service_account_token WHERE team_id = team.id) AS account_tokens,
               (SELECT count(*)::int FROM webhook WHERE team_id = team.id) AS webhooks,
               (SELECT count(*)::int FROM connection WHERE team_id = team.id) AS connections,
               (SELECT count(*)::int FROM demo WHERE team_id = team.id AND ended_at IS NULL) AS demos
        FROM team ORDER BY slug`);
      const [none, one] = [0, 1].map((n) => ({
        ...{ members: n, invitations: n, tokens: n, account_tokens: n, webhooks: n, connections: n, demos: n },
      }));
      expect(left).toEqual([
        { slug: 'acme', ...none },
        { slug: 'globex', ...one },
      ]);
      expect(await query('SELECT namespace, name FROM garden_cleanup')).toEqual([
        { namespace: 'garden-acme', name: 'k-acme' },
      ]);
      expect((await admin.run('team', 'list')).out).not.toContain('acme');
      expect((await admin.run('team', 'resume', 'acme')).err).toContain('There is no team "acme"');
    });

    it('holds the name for 30 days, then gives it away and keeps the log of the deleted team', async () => {
      await remove('--yes');

      const early = await admin.run('team', 'create', 'acme');
      await admin.pool.query(`UPDATE team SET deleted_at = deleted_at - interval '30 days'`);
      const late = await admin.run('team', 'create', 'acme');

      const [{ until }] = (await query(
        `SELECT to_char(created_at + interval '30 days', 'YYYY-MM-DD') AS until FROM audit_entry WHERE action = 'team.delete'`,
      )) as [{ until: string }];
      expect([early.code, late.code]).toEqual([1, 0]);
      expect(early.err).toContain(`Its name is free again on ${until}`);
      expect(
        await query(
          `SELECT action, slug = 'acme' AS is_new FROM audit_entry JOIN team ON team.id = team_id ORDER BY audit_entry.id`,
        ),
      ).toEqual([
        { action: 'team.create', is_new: false },
        { action: 'team.suspend', is_new: false },
        { action: 'team.delete', is_new: false },
        { action: 'team.create', is_new: true },
      ]);
    });

    it.each<[string, string, RegExp]>([
      [
        'that is not suspended',
        'UPDATE team SET suspended_at = NULL',
        /^Team acme is not suspended: run `team suspend acme`/,
      ],
      [
        'with a cluster',
        `${withConnection}
         INSERT INTO cluster (team_id, name, connection_id, spec, desired_hash) SELECT team_id, 'web', id, '{}', '' FROM made`,
        /^It has clusters \(1\): run `team resume acme` and let the team delete them/,
      ],
      [
        'with a server',
        `${withConnection}
         INSERT INTO adopted_server (team_id, connection_id, server_id, server_type, location, architecture, server_kind)
         SELECT team_id, id, 7, 'cx22', 'fsn1', 'x86', 'cloud' FROM made`,
        /^It has adopted servers \(1\)/,
      ],
      [
        'whose last write has no outcome yet',
        `INSERT INTO dns_zone (id, name, body, synced_at) VALUES (1, '${ZONE}', '{}', now());
         INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, state, lease_until)
         SELECT id, 'service', 1, 'new.acme', 'A', 'create', 'pending', now() FROM team`,
        /^The outcome of DNS writes is open \(1\)/,
      ],
    ])('refuses a team %s, and says so in the list', async (_what, given, sentence) => {
      await admin.pool.query(given);

      const refused = await remove('--yes');
      const listed = await admin.json<{ obstacles: string[] }>('team', 'delete', 'acme');

      expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringMatching(sentence) });
      expect(listed.obstacles).toEqual([expect.stringMatching(sentence)]);
      expect(await query('SELECT deleted_at FROM team')).toEqual([{ deleted_at: null }]);
    });

    it('refuses a team with record sets, unless they are to stay in the zone', async () => {
      await givenRecordSet();

      const refused = await remove('--yes');
      const kept = await remove('--yes', '--keep-records');

      expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/record sets \(1\).*--keep-records/) });
      expect(kept.code).toBe(0);
      expect(await query('SELECT name FROM dns_rrset')).toEqual([{ name: 'www.acme' }]);
    });

    describe('and then team hand-over', () => {
      const handOver = (...options: string[]) => admin.run('team', 'hand-over', 'acme', 'globex', ...options);

      it('gives its record sets to the members of another team, at once and in the logs of all', async () => {
        await givenRecordSet();
        await givenAllOfTwoTeams();
        await admin.run('user', 'create', 'eve@acme.test');
        await admin.run('team', 'add-member', 'acme', 'eve@acme.test');
        await admin.run('team', 'add-member', 'globex', 'ann@acme.test', '--role', 'admin');
        await admin.run('team', 'set-quota', 'acme', '--dns-records', '7');
        await remove('--yes', '--keep-records');

        const listed = await handOver();
        const membersBefore = await query(
          `SELECT 1 FROM membership JOIN team ON team.id = team_id WHERE slug = 'acme'`,
        );
        const done = await handOver('--yes');

        expect(listed.out).toMatch(/record sets +1\nrecords +1\nmembers +1\n[\s\S]*Nothing has changed\./);
        expect(membersBefore).toEqual([]);
        expect(done).toMatchObject({
          code: 0,
          err: '',
          out: expect.stringContaining('record sets of the deleted team (1)'),
        });
        const [team] = (await query(`
          SELECT dns_records_max AS quota, (SELECT array_agg(email || ' ' || role) FROM membership
                 JOIN app_user ON app_user.id = user_id WHERE team_id = team.id) AS members,
                 (SELECT count(*)::int FROM dns_token WHERE team_id = team.id) AS tokens
          FROM team WHERE slug = 'acme'`)) as object[];
        expect(team).toEqual({ quota: 7, members: ['ann@acme.test admin'], tokens: 0 });
        expect((await admin.run('usage', 'acme')).out).toMatch(/^records +1 +7$/m);
        expect(
          await query(`SELECT CASE WHEN slug = team.id::text THEN 'the deleted team' ELSE slug END AS log, detail->>'to' AS to
                       FROM audit_entry JOIN team ON team.id = team_id WHERE action = 'team.hand_over' ORDER BY 1`),
        ).toEqual(['acme', 'globex', 'the deleted team'].map((log) => ({ log, to: 'globex' })));
        expect((await handOver('--yes')).err).toMatch(/^Team acme is not deleted\./);
      });

      it.each<[string, string[], RegExp]>([
        ['a team that is not deleted', [], /^Team acme is not deleted\. Run `team delete acme --keep-records`/],
        ['to a suspended team', ['team delete acme --yes', 'team suspend globex'], /^Team globex is suspended/],
        [
          'to a team that does not exist',
          ['team delete acme --yes', 'team suspend globex', 'team delete globex --yes'],
          /^There is no team "globex"/,
        ],
      ])('refuses %s', async (_what, given, sentence) => {
        await admin.run('team', 'create', 'globex');
        for (const command of given) await admin.run(...command.split(' '));

        expect(await handOver('--yes')).toMatchObject({ code: 1, out: '', err: expect.stringMatching(sentence) });
        expect(await query(`SELECT 1 FROM audit_entry WHERE action = 'team.hand_over'`)).toEqual([]);
      });
    });
  });

  describe('user', () => {
    beforeEach(() => admin.run('team', 'create', 'acme'));

    it('creates a user, who becomes a member and then an administrator of a team', async () => {
      const created = await admin.run('user', 'create', 'Ann@Acme.test', '--name', 'Ann');
      const member = await admin.run('team', 'add-member', 'acme', 'ann@acme.test');
      const promoted = await admin.run('team', 'add-member', 'acme', 'ANN@acme.test', '--role', 'admin');

      expect([created.code, member.code, promoted.code]).toEqual([0, 0, 0]);
      expect(promoted.out).toBe('User ann@acme.test is admin of team acme.\n');
      expect((await admin.run('team', 'members', 'acme')).out).toMatch(
        /^MEMBER.*\nann@acme\.test {2}Ann {3}admin {2}20/,
      );
    });
  });

  describe('token', () => {
    beforeEach(() => admin.run('team', 'create', 'acme'));

    it('is shown only by the command that issues it', async () => {
      const issued = await admin.run('token', 'issue', 'acme', '--name', 'ci');
      const listed = await admin.run('token', 'list', 'acme');

      const token = /^ {2}(\S+)$/m.exec(issued.out)?.[1] ?? '';
      expect(isWellFormedDnsToken(token)).toBe(true);
      expect(issued.out).toContain('shown only once');
      expect(listed.out).toMatch(/ci +active/);
      expect(listed.out).not.toContain(token);
    });

    it('can expire, and be narrowed to a name and types', async () => {
      const command = 'token issue acme --name narrow --expires 30d --within ci.acme --types A,TXT';
      const issued = await admin.json<{ expiresAt: string }>(...command.split(' '));

      expect(issued).toMatchObject({ withinName: 'ci.acme', withinTypes: ['A', 'TXT'] });
      const daysLeft = (Date.parse(issued.expiresAt) - Date.now()) / 86_400_000;
      expect(daysLeft).toBeCloseTo(30, 1);
    });

    it('is revoked once, by its id and team', async () => {
      await admin.run('team', 'create', 'globex');
      const { id } = await admin.json<{ id: string }>('token', 'issue', 'acme', '--name', 'old');

      const byOthers = await admin.run('token', 'revoke', 'globex', id);
      const revoked = await admin.run('token', 'revoke', 'acme', id);
      const again = await admin.run('token', 'revoke', 'acme', id);
      const unknown = await admin.run('token', 'revoke', 'acme', 'no-uuid');

      expect([byOthers.code, revoked.code, again.code, unknown.code]).toEqual([1, 0, 1, 1]);
      expect((await admin.run('token', 'list', 'acme')).out).toMatch(/old +revoked/);
    });

    it('is revoked at a terminal once a person has agreed', async () => {
      const { id } = await admin.json<{ id: string }>('token', 'issue', 'acme', '--name', 'asked');
      const states = async () => (await admin.run('token', 'list', 'acme')).out;

      const declined = await admin.runAnswering(false, 'token', 'revoke', 'acme', id);
      expect(await states()).toMatch(/asked +active/);
      const agreed = await admin.runAnswering(true, 'token', 'revoke', 'acme', id);

      expect(declined).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed.') });
      expect(declined.err).toMatch(/^Token "asked" of team acme is revoked for good\. The installation is /);
      expect(agreed.code).toBe(0);
      expect(await states()).toMatch(/asked +revoked/);
    });
  });

  describe('usage and audit', () => {
    beforeEach(async () => {
      await admin.run('team', 'create', 'busy');
      const { id } = await admin.json<{ id: string }>('token', 'issue', 'busy', '--name', 'writer');
      await admin.pool.query(
        `INSERT INTO dns_zone (id, name, body, synced_at) VALUES (7001, 'example.test', '{}', now())`,
      );
      await admin.pool.query(
        `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
       VALUES (7001, 'www.busy', 'A', 'busy', 3, '{}'), (7001, 'busy', 'TXT', 'busy', 1, '{}')`,
      );
      await admin.pool.query(
        `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, found_applied,
                                    upstream_status, reserved_records, lease_until)
       SELECT team.id, 'token', $1::uuid, 7001, entry.name, type, operation, state::dns_audit_state, applied, status, reserved, until
       FROM team, (VALUES ('www.busy', 'A', 'create', 'completed', NULL::boolean, 201, 0, NULL::timestamptz),
                          ('busy', 'TXT', 'set_records', 'settled', true, NULL, 0, NULL),
                          ('new.busy', 'A', 'create', 'pending', NULL, NULL, 2, now()))
                   AS entry (name, type, operation, state, applied, status, reserved, until)
       WHERE slug = 'busy'`,
        [id],
      );
    });

    it('usage shows each quota with its usage', async () => {
      const { out } = await admin.run('usage', 'busy');

      expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
        ['OF', 'USED', 'LIMIT'],
        ['records', '4', '200'],
        ['records reserved by running writes', '2', '-'],
        ['record sets', '2', '-'],
        ['active tokens', '1', '5'],
        [''],
      ]);
    });

    it('audit shows the newest entries first, in pages', async () => {
      const first = await admin.json<{ entries: { name: string }[]; before: number }>('audit', 'busy', '--limit', '2');
      const rest = await admin.json<typeof first>('audit', 'busy', '--before', String(first.before));

      expect(first.entries.map(({ name }) => name)).toEqual(['new.busy', 'busy']);
      expect(rest).toMatchObject({ entries: [{ name: 'www.busy', token: { name: 'writer' } }], before: null });
    });
  });

  describe('a command that fails', () => {
    it.each<[what: string, command: string, code: number, sentence: RegExp]>([
      ['an unknown command', 'fly', 2, /unknown command 'fly'/],
      ['a missing argument', 'usage', 2, /missing required argument/],
      ['an invalid limit', 'audit acme --limit 0', 2, /whole number from 1/],
      ['a reserved word as name of a team', 'team create www', 1, /cannot be a team's name/],
      ['a name of a team that is no label', 'team create Acme_Ltd', 1, /cannot be a team's name/],
      ['punycode as name of a team', 'team create xn--cme-kla', 1, /cannot be a team's name: .* no xn--/],
      ['a taken name of a team', 'team create acme', 1, /already exists/],
      ['an invalid address', 'user create ann', 1, /is not an e-mail address/],
      ['a taken address', 'user create ANN@acme.test', 1, /already exists/],
      ['an unknown user as member', 'team add-member acme nobody@acme.test', 1, /user create nobody@acme\.test/],
      ['an unknown role', 'team add-member acme ann@acme.test --role owner', 2, /admin, member/],
      [
        'a token for a name of another team',
        'token issue acme --name x --within ci.globex',
        1,
        /withinName must be "acme"/,
      ],
      [
        'a token for a type that the API does not write',
        'token issue acme --name x --types MX',
        1,
        /cannot contain "MX"/,
      ],
      ['an invalid expiry', 'token issue acme --name x --expires soon', 2, /30d/],
      ['no quota to set', 'team set-quota acme', 1, /./],
      ['a quota beyond the bound', 'team set-quota acme --clusters 1001', 2, /./],
      ['no limit to set', 'team set-limit acme', 1, /./],
      ['a limit of no requests', 'team set-limit acme --dns-requests 0', 2, /./],
      ['the end of an unknown course', 'course end NO-SUCH-CODE --yes', 1, /./],
      ['the deactivation of an unknown course', 'course deactivate NO-SUCH-CODE', 1, /./],
      ['a course without demos per address', 'course create BOUNDED --per-address 0', 2, /./],
    ])('reports %s in one sentence, without a stack', async (_what, command, code, sentence) => {
      await admin.run('team', 'create', 'acme');
      await admin.run('user', 'create', 'ann@acme.test');

      const { code: ended, out, err } = await admin.run(...command.split(' '));

      expect([ended, out]).toEqual([code, '']);
      expect(err).toMatch(sentence);
      expect(err.trimEnd()).not.toContain('\n');
    });

    it('reports that the database is unavailable, without its password', async () => {
      const env = { DATABASE_URL: 'postgresql://corral:hunter2@127.0.0.1:1/corral' };

      const { code, err } = await admin.runWith(env, 'team', 'list');

      expect(code).toBe(1);
      expect(err).toMatch(/^The database does not answer\./);
      expect(err).not.toContain('hunter2');
    });
  });

  it('migrate creates a role per service with the listed rights only, and changes its password', async () => {
    const database = await createEmptyDatabase();
    const prefix = `r${randomBytes(4).toString('hex')}_`;
    const migrate = (password: string) =>
      admin.runWith(
        { DATABASE_URL: database.url, DATABASE_ROLE_PREFIX: prefix, DNS_GATEWAY_DATABASE_PASSWORD: password },
        '--json',
        'migrate',
      );
    const queryAt = (databaseUrl: string, statement: string) => {
      const pool = connectPool({ databaseUrl, applicationName: 'test', onIdleError: () => undefined });
      return pool.query(statement).finally(() => pool.end());
    };
    const query = async (password: string, statement: string) => {
      const url = new URL(database.url);
      url.username = `${prefix}dns_gateway`;
      url.password = encodeURIComponent(password);
      return queryAt(url.toString(), statement);
    };

    const first = await migrate('first ü:/?#[]@');
    await query('first ü:/?#[]@', 'SELECT * FROM team');
    // Rights that an earlier release may have listed.
    await queryAt(
      database.url,
      `GRANT SELECT ON session TO ${prefix}dns_gateway; GRANT USAGE ON SCHEMA bullmq TO ${prefix}dns_gateway;
     GRANT SELECT ON ALL TABLES IN SCHEMA bullmq TO ${prefix}dns_gateway`,
    );
    await query('first ü:/?#[]@', 'SELECT * FROM bullmq.job');
    const second = await migrate('second %41');

    expect(JSON.parse(first.out).roles).toEqual([`${prefix}dns_gateway`]);
    expect(JSON.parse(second.out).roles).toEqual([`${prefix}dns_gateway`]);
    await expect(query('first ü:/?#[]@', 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    await query('second %41', 'SELECT * FROM team');
    for (const statement of [
      'SELECT * FROM connection',
      'SELECT * FROM session',
      'UPDATE team SET slug = slug',
      'DELETE FROM dns_token',
      'CREATE TABLE own (id int)',
      'CREATE ROLE other',
      'SELECT * FROM bullmq.job',
    ]) {
      await expect(query('second %41', statement)).rejects.toThrow(/permission denied/);
    }
    await database.drop();
    await admin.pool.query(`DROP ROLE ${prefix}dns_gateway`);
  });

  describe('the program', () => {
    const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

    it("finds the installation of its folder, and exits with the command's code", async () => {
      await admin.run('team', 'create', 'acme');
      const folder = join(admin.folder, 'of-an-installation');
      await mkdir(join(folder, '.corral'), { recursive: true });
      await writeFile(join(folder, '.corral', 'admin.json'), JSON.stringify({ DATABASE_URL: admin.databaseUrl }));
      const spec = { command: process.execPath, cwd: folder, env: { DATABASE_URL: undefined } };

      const done = await startProcess({ ...spec, args: [main, 'team', 'list', '--json'] });
      const refused = await startProcess({ ...spec, args: [main, 'team', 'create', 'www'] });

      expect(await done.exited).toEqual({ code: 0, signal: null });
      expect(JSON.parse(done.output())).toContainEqual(expect.objectContaining({ slug: 'acme' }));
      expect(await refused.exited).toEqual({ code: 1, signal: null });
    });
  });
});

describe('quotas', () => {
  interface State {
    readonly dryRun: boolean;
    readonly changed: readonly string[];
    readonly exceeded: readonly string[];
    readonly quotas: readonly { quota: string; used: number; limit: number; isDefault: boolean }[];
  }
  beforeEach(async () => {
    await admin.empty();
    await admin.run('team', 'create', 'acme');
  });

  const set = (...options: string[]) => admin.json<State>('team', 'set-quota', 'acme', ...options);
  const limits = async () =>
    Object.fromEntries(
      (await admin.json<State>('team', 'show', 'acme')).quotas.map(({ quota, limit, isDefault }) => [
        quota,
        isDefault ? 'default' : limit,
      ]),
    );

  describe('the quotas of a team', () => {
    it('can be set one by one, and be those of the installation again', async () => {
      await set('--clusters', '7', '--dns-records', '500');
      const { changed } = await set('--clusters', 'default', '--nodes-per-cluster', '0', '--dns-records', '500');

      expect(changed).toEqual(['clusters', 'nodesPerCluster']);
      expect(await limits()).toEqual({
        clusters: 'default',
        poolsPerCluster: 'default',
        nodesPerCluster: 0,
        adoptedServers: 'default',
        dnsRecords: 500,
      });
    });

    it('stay as they are with --dry-run, which shows what would be', async () => {
      const { dryRun, changed, quotas } = await set('--clusters', '7', '--dry-run');

      expect({ dryRun, changed, first: quotas[0] }).toEqual({
        dryRun: true,
        changed: ['clusters'],
        first: { quota: 'clusters', used: 0, limit: 7, isDefault: false },
      });
      expect(await limits()).toMatchObject({ clusters: 'default' });
    });

    it('may be below what the team has, and the answer says so', async () => {
      await admin.pool.query(`INSERT INTO dns_zone (id, name, body, synced_at) VALUES (1, $1, '{}', now())`, [ZONE]);
      await admin.pool.query(
        `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body)
       VALUES (1, 'www.acme', 'A', 'acme', 3, '{}')`,
      );

      expect((await set('--dns-records', '2')).exceeded).toEqual(['dnsRecords']);
      const { out } = await admin.run('team', 'set-quota', 'acme', '--dns-records', '1');
      expect(out).toMatch(/DNS records +3 +1 +team\n/);
      expect(out).toContain('It keeps that, and gets nothing more.');
      expect((await admin.json<{ limits: { records: number } }>('usage', 'acme')).limits.records).toBe(1);
    });

    it('stay as they are when a new one is refused', async () => {
      expect((await admin.run('team', 'set-quota', 'acme', '--clusters', '1001')).code).toBe(2);
      expect((await admin.run('team', 'set-quota', 'acme')).code).toBe(1);
      expect(Object.values(await limits())).toEqual(Array(5).fill('default'));
    });
  });

  describe('the limits of requests of a team', () => {
    interface Limits {
      readonly limits: readonly { limit: string; perMinute: number; isDefault: boolean }[];
      readonly changed: readonly string[];
    }
    const setLimit = (...options: string[]) => admin.json<Limits>('team', 'set-limit', 'acme', ...options);
    const shown = async () => (await admin.json<Limits>('team', 'show', 'acme')).limits;

    it('are those of the installation until an operator sets them, and again afterwards', async () => {
      const defaults = [
        { limit: 'dnsRequests', perMinute: 600, isDefault: true },
        { limit: 'dnsTokenRequests', perMinute: 120, isDefault: true },
        { limit: 'accountRequests', perMinute: 600, isDefault: true },
      ];
      expect(await shown()).toEqual(defaults);

      const { changed } = await setLimit('--dns-requests', '1200', '--dns-token-requests', '300');
      expect(changed).toEqual(['dnsRequests', 'dnsTokenRequests']);
      expect((await shown()).map(({ perMinute, isDefault }) => [perMinute, isDefault])).toEqual([
        [1200, false],
        [300, false],
        [600, true],
      ]);
      const { out } = await admin.run('team', 'show', 'acme');
      expect(out).toMatch(/requests with one DNS token +300 +team\n/);

      await setLimit('--dns-requests', 'default', '--dns-token-requests', 'default');
      expect(await shown()).toEqual(defaults);
      const { rows } = await admin.pool.query(
        `SELECT changes FROM audit_entry WHERE action = 'team.set_limit' ORDER BY created_at LIMIT 1`,
      );
      expect(rows[0].changes).toContainEqual({ pointer: '/limits/dnsRequests', from: null, to: 1200 });
    });

    it('stay as they are when new ones are refused', async () => {
      expect((await admin.run('team', 'set-limit', 'acme', '--dns-requests', '0')).code).toBe(2);
      expect((await admin.run('team', 'set-limit', 'acme')).code).toBe(1);
      expect((await shown()).every(({ isDefault }) => isDefault)).toBe(true);
    });
  });

  describe('team end-demos', () => {
    const givenDemos = () =>
      admin.pool.query(
        `WITH zone AS (INSERT INTO dns_zone (id, name, body, of_demos, synced_at)
                     VALUES (2, 'demo.example.test', '{}', true, now()) RETURNING id)
       INSERT INTO demo (zone_id, label, name, team_id, ttl_seconds, created_at, expires_at)
       SELECT zone.id, slug || n, 'x', team.id, 600, now(), now() + interval '1 hour'
       FROM zone, team, generate_series(1, 2) AS n`,
      );
    const ended = async (slug: string) =>
      (
        await admin.pool.query(
          'SELECT label FROM demo JOIN team ON team.id = team_id WHERE slug = $1 AND ended_at IS NOT NULL ORDER BY 1',
          [slug],
        )
      ).rows.map(({ label }) => label);

    it('lists the live demos of the team, and ends only those with --yes', async () => {
      await admin.run('team', 'create', 'globex');
      await givenDemos();

      const listed = await admin.run('team', 'end-demos', 'acme');
      expect(listed.out).toMatch(/^DEMO.*\nacme1\.demo\.example\.test .*\nacme2\.demo\.example\.test /);
      expect(await ended('acme')).toEqual([]);

      const done = await admin.run('team', 'end-demos', 'acme', '--yes');
      expect(done.out).toBe('Live demos of team acme ended: 2.\n');
      expect([await ended('acme'), await ended('globex')]).toEqual([['acme1', 'acme2'], []]);
    });
  });
});

describe('course', () => {
  beforeEach(async () => {
    await admin.empty();
    await admin.pool.query(
      `INSERT INTO dns_zone (id, name, body, of_demos, synced_at) VALUES (1, 'demo.example.test', '{}', true, now())`,
    );
  });

  const listed = async (code: string): Promise<CourseRecord | undefined> =>
    (await admin.json<CourseRecord[]>('course', 'list')).find((course) => course.code === code);

  /** Creates a course code with three live demos, each with a token. */
  async function createWithThreeDemos(code: string): Promise<void> {
    await admin.run('course', 'create', code);
    await admin.pool.query(
      `WITH made AS (
       INSERT INTO demo (zone_id, label, name, course_code_id, made_from, ttl_seconds, created_at, expires_at)
       SELECT 1, lower(code) || '-' || n, 'x', id, '192.0.2.7', 600, now(), now() + interval '1 hour'
       FROM course_code, generate_series(1, 3) AS n WHERE code = $1 RETURNING id, label
     )
     INSERT INTO dns_token (demo_id, name, hash, scopes, within_types)
     SELECT id, label, sha256(label::bytea), '{dns}', '{}' FROM made`,
      [code],
    );
  }
  it('creates a code with the default limit or its own, and lists it', async () => {
    const usual = await admin.run('course', 'create', 'WORKSHOP-2027');
    const large = await admin.run('course', 'create', 'summer.school', '--limit', '200');

    expect([usual.code, large.code]).toEqual([0, 0]);
    expect(usual.out).toBe('Course code WORKSHOP-2027 is active. Live demos: at most 20.\n');
    const { out } = await admin.run('course', 'list');
    expect(out).toMatch(
      /^CODE {11}STATE {3}LIVE DEMOS {2}LIMIT {2}PER ADDRESS {2}CREATED\nWORKSHOP-2027 {2}active {2}0 {11}20 {5}20 {11}20/,
    );
    expect(await listed('summer.school')).toMatchObject({ liveDemosMax: 200, liveDemos: 0, deactivatedAt: null });
  });

  it('deactivates a code permanently, once', async () => {
    await admin.run('course', 'create', 'LAST-YEAR');

    const first = await admin.run('course', 'deactivate', 'LAST-YEAR');
    const second = await admin.run('course', 'deactivate', 'LAST-YEAR');
    const again = await admin.run('course', 'create', 'LAST-YEAR');

    expect([first.code, second.code, again.code]).toEqual([0, 1, 1]);
    expect((await listed('LAST-YEAR'))?.deactivatedAt).not.toBeNull();
    expect(again.err).toContain('already');
  });

  it('lists what the end of a course would end and changes nothing without --yes', async () => {
    for (const code of ['DRY-RUN', 'OTHER-ONE']) await createWithThreeDemos(code);
    await admin.pool.query(`UPDATE demo SET expires_at = now() - interval '1 s' WHERE label = 'dry-run-3'`);

    const shown = await admin.json('course', 'end', 'DRY-RUN');
    const { code, out } = await admin.run('course', 'end', 'DRY-RUN');

    const times = { createdAt: expect.any(String), expiresAt: expect.any(String) };
    const demos = [1, 2].map((n) => ({ name: `dry-run-${n}.demo.example.test`, ...times }));
    expect(shown).toEqual({ code: 'DRY-RUN', dryRun: true, demos });
    expect(code).toBe(0);
    expect(out).toContain('To deactivate DRY-RUN and end its live demos (2), add --yes.');
    expect(await listed('DRY-RUN')).toMatchObject({ liveDemos: 2, deactivatedAt: null });
  });

  it('ends a course with its live demos only', async () => {
    for (const code of ['ENDED-ONE', 'GOES-ON']) await createWithThreeDemos(code);

    const first = await admin.json<object>('course', 'end', 'ENDED-ONE', '--yes');
    const again = await admin.run('course', 'end', 'ENDED-ONE', '--yes');

    expect(first).toEqual({ code: 'ENDED-ONE', active: false, ended: 3 });
    expect(again.out).toBe('Course code ENDED-ONE is deactivated. Live demos ended: 0.\n');
    expect(await listed('ENDED-ONE')).toMatchObject({ liveDemos: 0, deactivatedAt: expect.any(String) });
    expect(await listed('GOES-ON')).toMatchObject({ liveDemos: 3, deactivatedAt: null });
    const { rows } = await admin.pool.query(
      `SELECT label, made_from IS NULL AS forgotten, clear_at IS NOT NULL AS clears, revoked_at IS NOT NULL AS revoked,
              (SELECT count(*)::int FROM dns_audit_entry AS entry
               WHERE entry.demo_id = demo.id AND operation = 'delete' AND actor = 'service') AS entries
       FROM demo JOIN dns_token ON demo_id = demo.id ORDER BY label`,
    );
    const ended = { forgotten: true, clears: true, revoked: true, entries: 1 };
    const live = { forgotten: false, clears: false, revoked: false, entries: 0 };
    expect(rows).toEqual([
      ...[1, 2, 3].map((n) => ({ label: `ended-one-${n}`, ...ended })),
      ...[1, 2, 3].map((n) => ({ label: `goes-on-${n}`, ...live })),
    ]);
  });
});
