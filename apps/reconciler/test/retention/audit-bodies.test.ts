import { createHash, randomUUID } from 'node:crypto';
import { retentionLimits } from '@corral/contracts';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import { oldRows, sweep, ZONE_ID } from './support.js';

const BYTES = retentionLimits.auditBodyBytes;
const KINDS = ['request', 'upstream', 'found', 'before', 'after'] as const;

let at: ClusterRows;
let teamId: string;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  await oldRows(at.pool).zone();
  teamId = await oldRows(at.pool).team();
});

interface Given {
  readonly body: string;
  readonly kind?: (typeof KINDS)[number];
  readonly state?: string;
  /** Time since the outcome is known. */
  readonly age?: string;
}

async function addEntry({ body, kind = 'request', state = 'completed', age = '11 minutes' }: Given): Promise<number> {
  const { rows } = await at.pool.query<{ id: number }>(
    `INSERT INTO dns_audit_entry (team_id, actor, zone_id, name, type, operation, state, ${kind}_body, lease_until,
                                  created_at, completed_at)
     VALUES ($1, 'service', $2, $3, 'TXT', 'create', $4::dns_audit_state, $5, now(), now() - interval '1 day',
             CASE WHEN $4::dns_audit_state <> 'pending' THEN now() - $6::interval END)
     RETURNING id`,
    [teamId, ZONE_ID, randomUUID(), state, body, age],
  );
  return rows[0]?.id as number;
}

async function kept(id: number, kind: (typeof KINDS)[number] = 'request') {
  const { rows } = await at.pool.query(
    `SELECT ${kind}_body AS body, ${kind}_bytes AS bytes, encode(${kind}_sha256, 'hex') AS sha256
     FROM dns_audit_entry WHERE id = $1`,
    [id],
  );
  return rows[0];
}
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const whole = (body: string) => ({ body, bytes: null, sha256: null });

describe('a body in the DNS audit log', () => {
  it.each(KINDS)('is cut to 16 KiB (%s), with length and digest of the original', async (kind) => {
    const body = JSON.stringify({ records: [{ value: 'x'.repeat(50_000) }] });
    const id = await addEntry({ body, kind });

    expect(await sweep(at.pool)).toEqual({ audit_bodies: 1 });

    expect(await kept(id, kind)).toEqual({ body: body.slice(0, BYTES), bytes: body.length, sha256: sha256(body) });
    expect(await sweep(at.pool)).toEqual({});
  });

  it('stays whole up to 16 KiB', async () => {
    const body = 'x'.repeat(BYTES);
    const id = await addEntry({ body });

    expect(await sweep(at.pool)).toEqual({});

    expect(await kept(id)).toEqual(whole(body));
  });

  it.each(['a', 'ä', '語', '😀'])('is never cut inside a character (%s)', async (character) => {
    const bodies = [0, 1, 2, 3].map((before) => 'x'.repeat(before) + character.repeat(20_000));
    const ids = [];
    for (const body of bodies) ids.push(await addEntry({ body }));

    await sweep(at.pool);

    for (const [index, body] of bodies.entries()) {
      const left = await kept(ids[index] as number);
      expect(left).toMatchObject({ bytes: Buffer.byteLength(body), sha256: sha256(body) });
      expect(body.startsWith(left.body)).toBe(true);
      const bytes = Buffer.byteLength(left.body);
      expect(bytes).toBeLessThanOrEqual(BYTES);
      expect(bytes).toBeGreaterThan(BYTES - Buffer.byteLength(character));
    }
  });

  it('leaves other bodies of the entry unchanged', async () => {
    const id = await addEntry({ body: 'x'.repeat(BYTES + 1) });
    await at.pool.query(`UPDATE dns_audit_entry SET upstream_body = '{"action":{}}' WHERE id = $1`, [id]);

    await sweep(at.pool);

    expect(await kept(id, 'upstream')).toEqual(whole('{"action":{}}'));
    expect(await kept(id, 'found')).toEqual({ body: null, bytes: null, sha256: null });
  });

  it('stays whole at any age while its write is pending, since the settlement needs it', async () => {
    const body = 'x'.repeat(BYTES + 1);
    const id = await addEntry({ body, state: 'pending' });

    expect(await sweep(at.pool)).toEqual({});

    expect(await kept(id)).toEqual(whole(body));
  });

  it('stays whole for ten minutes, since a client may repeat the request', async () => {
    const id = await addEntry({ body: 'x'.repeat(BYTES + 1), kind: 'upstream', age: '9 minutes' });

    expect(await sweep(at.pool)).toEqual({});

    expect(await kept(id, 'upstream')).toMatchObject({ bytes: null });
    expect(retentionLimits.auditBodyWholeSeconds).toBeGreaterThan(2 * retentionLimits.replaySeconds);
  });

  it('is cut once by two concurrent sweeps', async () => {
    const body = 'x'.repeat(40_000);
    const ids = [];
    for (let entry = 0; entry < 9; entry += 1) ids.push(await addEntry({ body }));

    const both = await Promise.all([sweep(at.pool), sweep(at.pool)]);

    expect(both.reduce((sum, { audit_bodies = 0 }) => sum + audit_bodies, 0)).toBe(9);
    for (const id of ids) expect(await kept(id)).toMatchObject({ bytes: 40_000, sha256: sha256(body) });
  });

  it('is found by an index that contains only bodies to cut', async () => {
    const { rows } = await at.pool.query(
      `SELECT pg_get_expr(indpred, indrelid) AS condition FROM pg_index WHERE indexrelid = 'dns_audit_entry_to_cut'::regclass`,
    );

    const limits = [...rows[0].condition.matchAll(/octet_length\((\w+)\) > (\d+)/g)].map(([, body, bytes]) => [
      body,
      bytes,
    ]);
    expect(limits).toEqual(KINDS.map((kind) => [`${kind}_body`, String(BYTES)]));
  });
});
