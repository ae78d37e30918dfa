import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWellFormedDnsToken } from '@corral/auth';
import { connectPool } from '@corral/database';
import { createEmptyDatabase, startProcess } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
beforeEach(() => admin.empty());

describe('team', () => {
  it('creates a team and lists it', async () => {
    const created = await admin.run('team', 'create', 'acme');
    const listed = await admin.run('team', 'list');

    expect(created).toMatchObject({ code: 0, err: '' });
    expect(listed.out).toMatch(/^TEAM {2}CREATED {19}ID\nacme {2}20/);
  });

  it.each([
    ['a reserved word', 'www', /cannot be a team's name/],
    ['not a label', 'Not A Label', /cannot be a team's name/],
    ['punycode', 'xn--cme-kla', /cannot be a team's name: .* no xn--/],
    ['taken', 'acme', /already exists/],
  ])('rejects a name that is %s, in one sentence', async (_why, slug, sentence) => {
    await admin.run('team', 'create', 'acme');

    const { code, out, err } = await admin.run('team', 'create', slug);

    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(sentence);
    expect(err.trimEnd()).not.toContain('\n');
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
    expect((await admin.run('team', 'members', 'acme')).out).toMatch(/^MEMBER.*\nann@acme\.test {2}Ann {3}admin {2}20/);
  });

  it.each([
    ['an invalid address', ['user', 'create', 'ann'], 1, /is not an e-mail address/],
    ['a duplicate address', ['user', 'create', 'ANN@acme.test'], 1, /already exists/],
    [
      'an unknown user as member',
      ['team', 'add-member', 'acme', 'nobody@acme.test'],
      1,
      /user create nobody@acme\.test/,
    ],
    ['an unknown team', ['team', 'add-member', 'none', 'ann@acme.test'], 1, /no team "none"/],
    ['an unknown role', ['team', 'add-member', 'acme', 'ann@acme.test', '--role', 'owner'], 2, /admin, member/],
  ])('rejects %s', async (_what, command, code, sentence) => {
    await admin.run('user', 'create', 'ann@acme.test');

    const refused = await admin.run(...command);

    expect(refused).toMatchObject({ code, out: '' });
    expect(refused.err).toMatch(sentence);
  });

  it('reports a team without members', async () => {
    expect((await admin.run('team', 'members', 'acme')).out).toContain('has no members yet');
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
    const issued = await admin.json<{ expiresAt: string; withinName: string; withinTypes: string[] }>(
      'token',
      'issue',
      'acme',
      '--name',
      'narrow',
      '--expires',
      '30d',
      '--within',
      'ci.acme',
      '--types',
      'A,TXT',
    );

    expect(issued).toMatchObject({ withinName: 'ci.acme', withinTypes: ['A', 'TXT'] });
    const daysLeft = (Date.parse(issued.expiresAt) - Date.now()) / 86_400_000;
    expect(daysLeft).toBeCloseTo(30, 1);
  });

  it.each([
    ['a name that people cannot read', ['--name', 'x\u202e'], 1, /name must have a visible character/],
    ['a name of another team', ['--within', 'ci.globex'], 1, /withinName must be "acme"/],
    ['a type that the API does not write', ['--types', 'MX'], 1, /withinTypes cannot contain "MX"/],
    ['a time in the past', ['--expires', '2020-01-01T00:00:00Z'], 1, /future/],
    ['an invalid time', ['--expires', 'soon'], 2, /30d/],
  ])('is rejected for %s', async (_what, options, code, sentence) => {
    const refused = await admin.run('token', 'issue', 'acme', '--name', 'x', ...options);

    expect(refused.code).toBe(code);
    expect(refused.err).toMatch(sentence);
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

  it('is rejected beyond the quota, with instructions', async () => {
    await admin.run('team', 'create', 'many');
    for (let index = 0; index < 5; index += 1) await admin.run('token', 'issue', 'many', '--name', `t${index}`);

    const sixth = await admin.run('token', 'issue', 'many', '--name', 'sixth');

    expect(sixth).toMatchObject({ code: 1, err: expect.stringMatching(/5 active tokens.*Revoke one first/) });
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

  it('audit shows how many writes were refused before they were sent, and why', async () => {
    await admin.pool.query(
      `INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, refusal_code, count, minute)
       SELECT id, 'service', NULL, 7001, 'web.other', 'A', 'create', 'unsent', 'forbidden', 417, now() FROM team
       WHERE slug = 'busy'`,
    );

    const text = await admin.run('audit', 'busy', '--name', 'web.other');
    const { entries } = await admin.json<{ entries: object[] }>('audit', 'busy', '--name', 'web.other');

    expect(text.out).toMatch(/unsent {3}forbidden {2}417\n$/);
    expect(entries).toMatchObject([{ state: 'unsent', refusalCode: 'forbidden', count: 417 }]);
  });

  it('audit shows the outcome of each entry, filtered by name and type', async () => {
    const text = await admin.run('audit', 'busy', '--name', 'busy', '--type', 'TXT');
    const none = await admin.run('audit', 'busy', '--name', 'busy', '--type', 'A');

    expect(text.out).toMatch(/writer {2}set_records {2}busy {2}TXT {3}found applied {2}- {7}1\n$/);
    expect(none.out).toBe('No entries found.\n');
  });
});

describe('a command that fails', () => {
  it.each([
    ['an unknown team', ['usage', 'nobody'], 1, /no team "nobody"/],
    ['an unknown command', ['fly'], 2, /unknown command 'fly'/],
    ['a missing argument', ['usage'], 2, /missing required argument/],
    ['an invalid limit', ['audit', 'acme', '--limit', '0'], 2, /whole number from 1/],
  ])('reports %s without a stack', async (_what, argv, code, sentence) => {
    const { code: ended, err } = await admin.run(...argv);

    expect(ended).toBe(code);
    expect(err).toMatch(sentence);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it('names the variable to set when no database is configured', async () => {
    expect(await admin.runWith({}, 'team', 'list')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/DATABASE_URL/),
    });
  });

  it('reports that the database is unavailable, without its password', async () => {
    const env = { DATABASE_URL: 'postgresql://corral:hunter2@127.0.0.1:1/corral' };

    const { code, err } = await admin.runWith(env, 'team', 'list');

    expect(code).toBe(1);
    expect(err).toMatch(/^The database does not answer\./);
    expect(err).not.toContain('hunter2');
  });
});

describe('migrate', () => {
  it('makes an empty database usable, and finds nothing to do the second time', async () => {
    const database = await createEmptyDatabase();
    const env = { DATABASE_URL: database.url, DATABASE_ROLE_PREFIX: `r${randomBytes(4).toString('hex')}_` };

    const before = await admin.runWith(env, 'team', 'list');
    const first = await admin.runWith(env, 'migrate');
    const after = await admin.runWith(env, 'team', 'list');
    const second = await admin.runWith(env, '--json', 'migrate');

    expect(before).toMatchObject({ code: 1, err: expect.stringMatching(/`migrate` first/) });
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/is up to date\. Migrations applied: \d+\./) });
    expect(after.out).toMatch(/no teams yet/);
    expect(JSON.parse(second.out)).toEqual({ applied: [], roles: [] });
    await database.drop();
  });

  it('creates a role per service with the listed rights only, and changes its password', async () => {
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
