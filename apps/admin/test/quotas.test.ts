import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin, ZONE } from './support/start-admin.js';

interface State {
  readonly dryRun: boolean;
  readonly changed: readonly string[];
  readonly exceeded: readonly string[];
  readonly quotas: readonly { quota: string; used: number; limit: number; isDefault: boolean }[];
}

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
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
  it('are those of the installation until an operator sets them', async () => {
    expect((await admin.json<State>('team', 'show', 'acme')).quotas).toEqual([
      { quota: 'clusters', used: 0, limit: 20, isDefault: true },
      { quota: 'poolsPerCluster', used: 0, limit: 20, isDefault: true },
      { quota: 'nodesPerCluster', used: 0, limit: 100, isDefault: true },
      { quota: 'adoptedServers', used: 0, limit: 50, isDefault: true },
      { quota: 'dnsRecords', used: 0, limit: 200, isDefault: true },
    ]);
  });

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

  it.each([
    ['without any quota', [], 1],
    ['beyond the bound', ['--clusters', '1001'], 2],
    ['with a negative number', ['--clusters=-1'], 2],
    ['with a word', ['--dns-records', 'many'], 2],
  ])('are not set %s', async (_what, options, code) => {
    expect((await admin.run('team', 'set-quota', 'acme', ...options)).code).toBe(code);
    expect(Object.values(await limits())).toEqual(Array(5).fill('default'));
  });

  it('are shown to the team with the values before and after', async () => {
    await set('--clusters', '7');

    const { rows } = await admin.pool.query(`SELECT changes FROM audit_entry WHERE action = 'team.set_quota'`);
    expect(rows).toEqual([{ changes: [{ pointer: '/quotas/clusters', from: null, to: 7 }] }]);
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

  it.each([
    ['to none', ['--dns-requests', '0'], 2],
    ['beyond the bound', ['--account-requests', '60001'], 2],
    ['without any limit', [], 1],
  ])('are not set %s', async (_what, options, code) => {
    expect((await admin.run('team', 'set-limit', 'acme', ...options)).code).toBe(code);
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
