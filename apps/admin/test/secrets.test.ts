import { randomBytes } from 'node:crypto';
import { KeyRing } from '@corral/secrets';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
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

const reseal = (...options: string[]) =>
  admin.runWith({ DATABASE_URL: admin.databaseUrl, SECRET_KEYS: secretKeys }, ...options, 'secrets', 'reseal');

/** A connection whose token was sealed with a key. */
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

describe('secrets reseal', () => {
  it('seals what is under an older key anew, and is no change of the token', async () => {
    await givenConnection('older', old);
    await givenConnection('newer', current);

    const { code, out } = await reseal();

    expect([code, out]).toEqual([0, 'Sealed anew: 1. Keys in use: 2026.\n']);
    expect(await tokenOf('older')).toEqual(['2026', 'token of older', 1]);
    expect(await tokenOf('newer')).toEqual(['2026', 'token of newer', 1]);
    expect((await reseal()).out).toContain('Sealed anew: 0.');
  });

  it('leaves alone what does not open, and names it without a token', async () => {
    await givenConnection('older', old);
    await givenConnection('gone', lost);

    const { out } = await reseal('--json');

    expect(JSON.parse(out)).toEqual({ resealed: 1, unreadable: ['acme/gone'], keysInUse: ['2026', 'lost'] });
    expect((await reseal()).out).toContain('acme/gone');
  });

  it('asks for the keys, and does not repeat them', async () => {
    const missing = await admin.run('secrets', 'reseal');
    const wrong = await admin.runWith(
      { DATABASE_URL: admin.databaseUrl, SECRET_KEYS: `${secretKeys}x` },
      'secrets',
      'reseal',
    );

    expect([missing.code, wrong.code]).toEqual([1, 1]);
    expect(missing.err).toContain('SECRET_KEYS is missing');
    expect(wrong.err).not.toContain(current.bytes.toString('base64').slice(0, 16));
  });
});
