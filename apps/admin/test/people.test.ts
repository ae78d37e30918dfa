import { dnsTokenVerifier, hashSessionSecret, mintSessionSecret } from '@corral/auth';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

let admin: TestAdmin;

beforeAll(async () => {
  admin = await startAdmin();
});

afterAll(() => admin.stop());

describe('user', () => {
  beforeEach(async () => {
    await admin.empty();
    for (const team of ['acme', 'globex']) await admin.run('team', 'create', team);
  });

  /** A user with a session and a linked identity. */
  async function givenUser(email: string, teams: readonly string[]): Promise<string> {
    const { id } = await admin.json<{ id: string }>('user', 'create', email);
    for (const team of teams) await admin.run('team', 'add-member', team, email, '--role', 'admin');
    await admin.pool.query(
      `INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
     VALUES ($1, $2, now() + interval '1 hour', now() + interval '1 hour')`,
      [id, hashSessionSecret(mintSessionSecret())],
    );
    await admin.pool.query(`INSERT INTO user_identity (issuer, subject, user_id) VALUES ('https://id.test', $2, $1)`, [
      id,
      `subject of ${email}`,
    ]);
    return id;
  }
  const openSessions = async (userId: string): Promise<number> =>
    (await admin.pool.query('SELECT 1 FROM session WHERE user_id = $1 AND revoked_at IS NULL', [userId])).rows.length;

  describe('user unlink', () => {
    const identity = ['--issuer', 'https://id.test', '--subject', 'subject of ann@acme.test'];

    it('unlinks an identity once, and ends the sessions', async () => {
      const id = await givenUser('ann@acme.test', []);

      const before = await admin.run('user', 'identities', 'ann@acme.test');
      const unlinked = await admin.run('user', 'unlink', 'ann@acme.test', ...identity);
      const again = await admin.run('user', 'unlink', 'ann@acme.test', ...identity);

      expect(before.out).toMatch(/^ISSUER.*SUBJECT.*\nhttps:\/\/id\.test {2}subject of ann@acme\.test {2}20/);
      expect([unlinked.code, again.code]).toEqual([0, 1]);
      expect(await openSessions(id)).toBe(0);
      expect((await admin.run('user', 'identities', 'ann@acme.test')).out).toContain('has no linked identity yet');
    });
  });

  describe('user end', () => {
    it("ends the user's own sessions, identities, memberships and tokens only", async () => {
      const id = await givenUser('bob@acme.test', ['acme', 'globex']);
      await givenUser('eve@acme.test', ['acme']);
      const issue = (team: string, name: string) =>
        admin.json<{ id: string; token: string }>('token', 'issue', team, '--name', name);
      const own = [await issue('acme', 'ci'), await issue('globex', 'backup')];
      const others = await issue('acme', 'without creator');
      await admin.pool.query('UPDATE dns_token SET created_by = $1 WHERE id = ANY($2)', [
        id,
        own.map((token) => token.id),
      ]);
      const verifier = dnsTokenVerifier({
        pool: admin.pool,
        databaseUrl: admin.databaseUrl,
        applicationName: 'test',
        onListenError: () => undefined,
      });
      for (const { token } of [...own, others]) expect(await verifier.verify(token)).not.toBeNull();

      const ended = await admin.json<object>('user', 'end', 'BOB@acme.test');

      expect(ended).toEqual({
        email: 'bob@acme.test',
        sessions: 1,
        identities: 1,
        teams: [
          { team: 'acme', wasMember: true, dnsTokensRevoked: ['ci'], lacksAdmin: false },
          { team: 'globex', wasMember: true, dnsTokensRevoked: ['backup'], lacksAdmin: true },
        ],
      });
      for (const { token } of own) {
        await waitFor('the token to be refused', async () => (await verifier.verify(token)) === null);
      }
      expect(await verifier.verify(others.token)).not.toBeNull();
      await verifier.close();
      expect(await openSessions(id)).toBe(0);
      expect((await admin.run('team', 'members', 'acme')).out).toMatch(/eve@acme\.test/);
      expect((await admin.run('team', 'members', 'acme')).out).not.toMatch(/bob@acme\.test/);
      const { rows } = await admin.pool.query(
        `SELECT action, target_name, detail->>'dnsTokensRevoked' AS tokens FROM audit_entry
       JOIN team ON team.id = team_id WHERE slug = 'globex' AND user_id IS NULL ORDER BY audit_entry.id`,
      );
      expect(rows).toEqual([
        { action: 'team.create', target_name: 'globex', tokens: null },
        { action: 'member.add', target_name: 'bob@acme.test', tokens: null },
        { action: 'dns_token.create', target_name: 'backup', tokens: null },
        { action: 'dns_token.revoke', target_name: 'backup', tokens: null },
        { action: 'member.remove', target_name: 'bob@acme.test', tokens: 'backup' },
      ]);
    });
  });
});

describe('the standing of a team', () => {
  beforeEach(async () => {
    await admin.empty();
    await admin.run('team', 'create', 'acme');
  });

  it('is suspended once and resumed once', async () => {
    const codes: number[] = [];
    for (const what of ['resume', 'suspend', 'suspend']) codes.push((await admin.run('team', what, 'acme')).code);
    const [suspended] = await admin.json<{ suspendedAt: string | null }[]>('team', 'list');
    codes.push((await admin.run('team', 'resume', 'acme')).code);
    const [resumed] = await admin.json<{ suspendedAt: string | null }[]>('team', 'list');

    expect(codes).toEqual([1, 0, 1, 0]);
    expect(suspended?.suspendedAt).not.toBeNull();
    expect(resumed?.suspendedAt).toBeNull();
  });

  it('has no viewer who could write with a DNS token of their own', async () => {
    const { id } = await admin.json<{ id: string }>('user', 'create', 'ann@acme.test');
    await admin.run('team', 'add-member', 'acme', 'ann@acme.test');
    await admin.run('token', 'issue', 'acme', '--name', 'hers');
    await admin.pool.query('UPDATE dns_token SET created_by = $1', [id]);

    const { out } = await admin.run('team', 'add-member', 'acme', 'ann@acme.test', '--role', 'viewer');

    expect(out).toBe('User ann@acme.test is viewer of team acme. DNS tokens revoked: hers.\n');
    expect((await admin.pool.query('SELECT FROM dns_token WHERE revoked_at IS NULL')).rowCount).toBe(0);
  });

  it('loses a member with the DNS tokens of that member, once', async () => {
    const { id } = await admin.json<{ id: string }>('user', 'create', 'ann@acme.test');
    await admin.run('team', 'add-member', 'acme', 'ann@acme.test', '--role', 'admin');
    await admin.run('token', 'issue', 'acme', '--name', 'hers');
    await admin.pool.query('UPDATE dns_token SET created_by = $1', [id]);

    const removed = await admin.run('team', 'remove-member', 'acme', 'ann@acme.test');
    const again = await admin.run('team', 'remove-member', 'acme', 'ann@acme.test');

    expect(removed.out).toContain('DNS tokens revoked: hers. The team has no administrator now.');
    expect([removed.code, again.code]).toEqual([0, 1]);
    expect((await admin.json<{ users: { teams: unknown[] }[] }>('user', 'list')).users).toEqual([
      expect.objectContaining({ email: 'ann@acme.test', teams: [] }),
    ]);
  });
});

describe('every act of an operator', () => {
  interface Act {
    readonly operator: string;
    readonly action: string;
    readonly team: string | null;
    readonly targetName: string;
    readonly detail: object;
  }
  beforeEach(() => admin.empty());

  const acts = async (...argv: string[]): Promise<readonly Act[]> =>
    (await admin.json<{ acts: readonly Act[] }>('operators', '--limit', '1000', ...argv)).acts;
  const as = (name: string, ...argv: string[]) => admin.run('--as', name, ...argv);
  it.each<[string, string[], Partial<Act>]>([
    ['team create', ['team', 'create', 'globex'], { action: 'team.create', team: 'globex', targetName: 'globex' }],
    [
      'team add-member',
      ['team', 'add-member', 'acme', 'ann@acme.test', '--role', 'admin'],
      { action: 'member.add', team: 'acme', targetName: 'ann@acme.test', detail: { role: 'admin' } },
    ],
    ['team set-quota', ['team', 'set-quota', 'acme', '--clusters', '3'], { action: 'team.set_quota', team: 'acme' }],
    [
      'team set-limit',
      ['team', 'set-limit', 'acme', '--dns-requests', '9'],
      { action: 'team.set_limit', team: 'acme' },
    ],
    ['team end-demos', ['team', 'end-demos', 'acme', '--yes'], { action: 'team.end_demos', detail: { demos: 0 } }],
    ['team suspend', ['team', 'suspend', 'acme'], { action: 'team.suspend', team: 'acme' }],
    ['team rename', ['team', 'rename', 'acme', 'Acme Ltd'], { action: 'team.rename', detail: { name: 'Acme Ltd' } }],
    ['user create', ['user', 'create', 'bob@acme.test'], { action: 'user.create', team: null }],
    [
      'user unlink',
      ['user', 'unlink', 'ann@acme.test', '--issuer', 'https://id.test', '--subject', 'ann'],
      { action: 'user.unlink', team: null, detail: { issuer: 'https://id.test', subject: 'ann' } },
    ],
    ['user end', ['user', 'end', 'ann@acme.test'], { action: 'user.end', team: null, targetName: 'ann@acme.test' }],
    ['token issue', ['token', 'issue', 'acme', '--name', 'ci'], { action: 'dns_token.create', team: 'acme' }],
    ['course create', ['course', 'create', 'COURSE-2'], { action: 'course.create', targetName: 'COURSE-2' }],
    ['course deactivate', ['course', 'deactivate', 'COURSE-1'], { action: 'course.deactivate' }],
    ['course end', ['course', 'end', 'COURSE-1', '--yes'], { action: 'course.end', detail: { demos: 0 } }],
    ['hold begin', ['hold', 'begin'], { action: 'hold.begin', team: null }],
    ['retention run', ['retention', 'run', '--yes'], { action: 'retention.run', detail: { auditDays: 400 } }],
    ['migrate', ['migrate'], { action: 'database.migrate', detail: { applied: 0 } }],
  ])('has an entry with the name of the operator: %s', async (_what, command, expected) => {
    await as('earlier', 'team', 'create', 'acme');
    await as('earlier', 'course', 'create', 'COURSE-1');
    const { id } = await admin.json<{ id: string }>('--as', 'earlier', 'user', 'create', 'ann@acme.test');
    await admin.pool.query(
      `INSERT INTO user_identity (issuer, subject, user_id) VALUES ('https://id.test', 'ann', $1)`,
      [id],
    );

    const { code, err } = await as('ada', ...command);

    expect([code, err.includes('failed')]).toEqual([0, false]);
    expect(await acts('--operator', 'ada')).toEqual([expect.objectContaining({ operator: 'ada', ...expected })]);
  });

  it('is absent when the change was refused or only shown', async () => {
    await as('earlier', 'team', 'create', 'acme');
    await as('earlier', 'course', 'create', 'COURSE-1');
    for (const command of [
      ['team', 'create', 'acme'],
      ['course', 'create', 'COURSE-1'],
      ['course', 'end', 'COURSE-1'],
      ['team', 'end-demos', 'acme'],
      ['team', 'delete', 'acme'],
      ['team', 'delete', 'acme', '--yes'],
      ['team', 'set-quota', 'acme', '--clusters', '3', '--dry-run'],
      ['team', 'set-limit', 'acme', '--dns-requests', '9', '--dry-run'],
      ['token', 'revoke', 'acme', '11111111-1111-4111-8111-111111111111'],
      ['retention', 'run'],
      ['team', 'show', 'acme'],
    ]) {
      await as('ada', ...command);
    }

    expect(await acts('--operator', 'ada')).toEqual([]);
  });

  it('rolls back with its change: without the entry there is no change', async () => {
    await admin.pool.query(`ALTER TABLE operator_act ADD CONSTRAINT none CHECK (action <> 'user.create')`);
    try {
      expect((await admin.run('user', 'create', 'bob@acme.test')).code).toBe(1);
      expect((await admin.pool.query('SELECT FROM app_user')).rows).toEqual([]);
    } finally {
      await admin.pool.query('ALTER TABLE operator_act DROP CONSTRAINT none');
    }
  });

  it('names the operator of the environment without --as, and the user of the system without both', async () => {
    const env = { DATABASE_URL: admin.databaseUrl };
    await admin.runWith({ ...env, CORRAL_OPERATOR: 'grace' }, 'user', 'create', 'a@acme.test');
    await admin.runWith({ ...env, CORRAL_OPERATOR: 'grace' }, '--as', 'ada', 'user', 'create', 'b@acme.test');
    await admin.runWith(env, 'user', 'create', 'c@acme.test');

    const [system, named, configured] = await acts();
    expect([named?.operator, configured?.operator]).toEqual(['ada', 'grace']);
    expect(system?.operator).toMatch(/^.+$/);
    expect((await as('x'.repeat(101), 'team', 'list')).code).toBe(1);
  });
});
