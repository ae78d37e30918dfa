import { dnsTokenVerifier, hashSessionSecret, mintSessionSecret } from '@corral/auth';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
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

  it('requires issuer and subject', async () => {
    await givenUser('ann@acme.test', []);

    expect((await admin.run('user', 'unlink', 'ann@acme.test')).code).toBe(2);
    expect((await admin.run('user', 'unlink', 'nobody@acme.test', ...identity)).code).toBe(1);
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

  it('reports what it did, also when repeated', async () => {
    await givenUser('fay@acme.test', ['globex']);

    const first = await admin.run('user', 'end', 'fay@acme.test');
    const second = await admin.run('user', 'end', 'fay@acme.test');

    expect(first.out).toBe(
      'User fay@acme.test has no access any more. Sessions ended: 1, identities unlinked: 1.\n' +
        '  globex: membership removed; DNS tokens revoked: none; the team has no administrator now\n',
    );
    expect(second).toMatchObject({
      code: 0,
      out: 'User fay@acme.test has no access any more. Sessions ended: 0, identities unlinked: 0.\n',
    });
  });
});
