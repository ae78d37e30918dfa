import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { KeyRing } from '@corral/secrets';
import { type RunningProcess, startProcess } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startAdmin, type TestAdmin } from './support/start-admin.js';

const keyOf = (id: string) => ({ id, bytes: randomBytes(32) });
const [lost, old, current] = [keyOf('lost'), keyOf('2025'), keyOf('2026')];
const secretKeys = [current, old].map(({ id, bytes }) => `${id}:${bytes.toString('base64')}`).join(',');
const ring = new KeyRing([current, old]);

let admin: TestAdmin;
beforeAll(async () => {
  admin = await startAdmin();
  await admin.run('team', 'create', 'acme');
});
afterAll(() => admin.stop());
beforeEach(() => admin.pool.query('DELETE FROM connection'));

const environment = () => ({ DATABASE_URL: admin.databaseUrl, SECRET_KEYS: secretKeys });
const rotate = (...options: string[]) => admin.runWith(environment(), 'secrets', 'rotate', ...options);
const rotateAsJson = async () =>
  JSON.parse((await admin.runWith(environment(), '--json', 'secrets', 'rotate')).out) as Record<string, unknown>;

/** A connection whose token is sealed with a key. */
async function givenConnection(ref: string, key: ReturnType<typeof keyOf>): Promise<void> {
  const { rows } = await admin.pool.query<{ id: string }>('SELECT gen_random_uuid() AS id');
  const id = rows[0]?.id as string;
  const { bytes } = new KeyRing([key]).seal(`token of ${ref}`, id);
  await admin.pool.query(
    `INSERT INTO connection (id, team_id, ref, name, provider, provider_config, sealed_token, token_key_id)
     SELECT $1, id, $2, $2, 'hcloud', '{}', $3, $4 FROM team WHERE slug = 'acme'`,
    [id, ref, bytes, key.id],
  );
}

async function tokenOf(ref: string): Promise<[keyId: string, token: string, version: number]> {
  const { rows } = await admin.pool.query('SELECT * FROM connection WHERE ref = $1', [ref]);
  const { id, sealed_token: bytes, token_key_id: keyId, token_version: version } = rows[0];
  return [keyId, ring.open({ keyId, bytes }, id), version];
}

describe('secrets rotate', () => {
  it('seals tokens of older keys with the newest, without changing the token version', async () => {
    await givenConnection('older', old);
    await givenConnection('newer', current);

    expect(await rotateAsJson()).toEqual({
      rotated: 1,
      unreadable: [],
      keys: [
        { id: '2026', secrets: 2, state: 'newest' },
        { id: '2025', secrets: 0, state: 'unused' },
      ],
    });

    expect(await tokenOf('older')).toEqual(['2026', 'token of older', 1]);
    expect(await tokenOf('newer')).toEqual(['2026', 'token of newer', 1]);
  });

  it('processes all in batches, and nothing when repeated', async () => {
    for (const ref of ['a', 'b', 'c', 'd', 'e']) await givenConnection(ref, old);

    const { code, out, err } = await rotate('--batch-size', '2');

    expect(code).toBe(0);
    expect(err.split('\n')).toEqual(['2 re-encrypted …', '4 re-encrypted …', '']);
    expect(out).toContain('Re-encrypted: 5.');
    expect(out).toContain('No secret is encrypted with 2025 any more. Remove it from SECRET_KEYS once every service');
    expect(await rotateAsJson()).toMatchObject({ rotated: 0 });
  });

  it('skips secrets that cannot be decrypted, and names them without a token', async () => {
    await givenConnection('older', old);
    await givenConnection('gone', lost);
    await givenConnection('oldest', old);

    expect(await rotateAsJson()).toEqual({
      rotated: 2,
      unreadable: ['acme/gone'],
      keys: [
        { id: '2026', secrets: 2, state: 'newest' },
        { id: '2025', secrets: 0, state: 'unused' },
        { id: 'lost', secrets: 1, state: 'missing' },
      ],
    });
    expect((await rotate('--batch-size', '1')).out).toContain('need a new token or their old key: acme/gone');
  });

  it('only checks with --check, and fails until all are sealed with the newest key', async () => {
    await givenConnection('older', old);

    const before = await rotate('--check');
    expect([before.code, before.err]).toEqual([
      1,
      'Not encrypted with the newest key: 1. Run `secrets rotate` to re-encrypt them.\n',
    ]);
    expect(before.out).toMatch(/2025 +1 +in use/);
    expect(await tokenOf('older')).toEqual(['2025', 'token of older', 1]);

    await rotate();
    const after = await rotate('--check');
    expect([after.code, after.err]).toEqual([0, '']);
    expect(after.out).toMatch(/2025 +0 +unused/);
  });

  it('asks to be repeated when a service still seals with an older key', async () => {
    await givenConnection('older', old);
    await admin.pool.query(`
      CREATE FUNCTION seal_anew() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RETURN OLD; END $$;
      CREATE TRIGGER seal_anew BEFORE UPDATE ON connection FOR EACH ROW EXECUTE FUNCTION seal_anew()`);
    try {
      expect((await rotate()).out).toContain('A service still encrypts with 2025');
    } finally {
      await admin.pool.query('DROP TRIGGER seal_anew ON connection; DROP FUNCTION seal_anew');
    }
  });

  it('requires the keys, and does not print them', async () => {
    const missing = await admin.run('secrets', 'rotate');
    const wrong = await admin.runWith({ ...environment(), SECRET_KEYS: `${secretKeys}x` }, 'secrets', 'rotate');

    expect([missing.code, wrong.code]).toEqual([1, 1]);
    expect(missing.err).toContain('SECRET_KEYS is missing');
    expect(wrong.err).not.toContain(current.bytes.toString('base64').slice(0, 16));
  });
});

describe('a rotation that is killed halfway', () => {
  const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
  let running: RunningProcess | undefined;
  afterEach(async () => {
    await running?.stop({ timeoutMs: 0 });
  });

  it('loses nothing, and the next one completes it', async () => {
    const refs = ['a', 'b', 'c', 'd'];
    for (const ref of refs) await givenConnection(ref, old);
    const { rows } = await admin.pool.query<{ id: string; ref: string }>('SELECT id, ref FROM connection ORDER BY id');
    const [held, ...rest] = rows.map(({ ref }) => ref).toReversed() as [string, ...string[]];
    const holder = await admin.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM connection WHERE ref = $1 FOR UPDATE', [held]);
      running = await startProcess({
        command: process.execPath,
        args: [program, 'secrets', 'rotate', '--batch-size', '1'],
        env: environment(),
        readyLine: '3 re-encrypted',
      });
      await running.kill('SIGKILL');
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }

    for (const ref of rest) expect(await tokenOf(ref)).toEqual(['2026', `token of ${ref}`, 1]);
    // With both keys everything can be opened, whichever sealed it.
    expect((await tokenOf(held)).slice(1)).toEqual([`token of ${held}`, 1]);
    await rotate();
    for (const ref of refs) expect(await tokenOf(ref)).toEqual(['2026', `token of ${ref}`, 1]);
  });
});
