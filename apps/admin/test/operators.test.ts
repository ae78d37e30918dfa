import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

interface Act {
  readonly operator: string;
  readonly action: string;
  readonly team: string | null;
  readonly targetName: string;
  readonly detail: object;
}

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
beforeEach(() => admin.empty());

const acts = async (...argv: string[]): Promise<readonly Act[]> =>
  (await admin.json<{ acts: readonly Act[] }>('operators', '--limit', '1000', ...argv)).acts;
const as = (name: string, ...argv: string[]) => admin.run('--as', name, ...argv);

describe('every act of an operator', () => {
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

  it('is listed newest first in a table, up to a time', async () => {
    await as('ada', 'user', 'create', 'a@acme.test');
    await as('bob', 'user', 'create', 'b@acme.test');

    const { out } = await admin.run('operators');

    expect(out).toMatch(/^TIME +OPERATOR +ACTION +TEAM +TARGET +DETAIL\n\S+ +bob +user\.create.*\n\S+ +ada /);
    expect(await acts('--before', '2026-01-01T00:00:00Z')).toEqual([]);
  });
});
