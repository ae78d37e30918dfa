import type { CourseRecord } from '@corral/dns-data';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
});
afterAll(() => admin.stop());
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

describe('course', () => {
  it('lists nothing at first, with a hint', async () => {
    expect((await admin.run('course', 'list')).out).toContain('course create');
  });

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

  it('counts live demos only', async () => {
    await admin.run('course', 'create', 'COUNTED');
    await admin.pool.query(
      `INSERT INTO demo (zone_id, label, name, course_code_id, ttl_seconds, created_at, expires_at, ended_at, clear_at)
       SELECT 1, label, label, course_code.id, 600, now() - interval '1 hour', now() + expires, now() + ended, now() + ended
       FROM course_code, (VALUES ('live', interval '1 hour', NULL::interval), ('over', interval '-1 minute', NULL),
                                 ('deleted', interval '1 hour', interval '-1 minute')) AS made(label, expires, ended)
       WHERE code = 'COUNTED'`,
    );

    expect((await listed('COUNTED'))?.liveDemos).toBe(1);
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

    const shown = await admin.json<{ demos: unknown[] }>('course', 'end', 'DRY-RUN');
    const text = await admin.run('course', 'end', 'DRY-RUN');

    const times = { createdAt: expect.any(String), expiresAt: expect.any(String) };
    const names = ['dry-run-1.demo.example.test', 'dry-run-2.demo.example.test'];
    expect(shown).toEqual({ code: 'DRY-RUN', dryRun: true, demos: names.map((name) => ({ name, ...times })) });
    expect(text.code).toBe(0);
    expect(text.out).toContain('To deactivate DRY-RUN and end its live demos (2), add --yes.');
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

  it.each([
    ['the end of an unknown code', ['end', 'NO-SUCH-CODE', '--yes'], 1],
    ['the dry run of the end of an unknown code', ['end', 'NO-SUCH-CODE'], 1],
    ['a limit of 0 per address', ['create', 'BOUNDED', '--per-address', '0'], 2],
    ['a code that is too short', ['create', 'SHORT'], 1],
    ['a code with spaces', ['create', 'two words'], 1],
    ['a code that is too long', ['create', 'x'.repeat(65)], 1],
    ['a limit of 0', ['create', 'LIMITED', '--limit', '0'], 2],
    ['a limit that is not a number', ['create', 'LIMITED', '--limit', 'many'], 2],
    ['the deactivation of an unknown code', ['deactivate', 'NO-SUCH-CODE'], 1],
  ])('rejects %s, in one sentence', async (_what, command, code) => {
    const ran = await admin.run('course', ...command);

    expect([ran.code, ran.out]).toEqual([code, '']);
    expect(ran.err.trimEnd()).not.toContain('\n');
  });
});
