import { randomBytes, randomUUID } from 'node:crypto';
import { silentLog } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sweepLeftovers } from '../../src/clusters/sweep-leftovers.js';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';

let at: ClusterRows;
let userId: string;
beforeAll(async () => {
  at = await openClusterRows();
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  const { rows } = await at.pool.query(`INSERT INTO app_user (email) VALUES ('ada@acme.test') RETURNING id`);
  userId = rows[0].id;
});

/** In batches of two, so that there are several. */
const sweep = (signal = new AbortController().signal) =>
  sweepLeftovers({ pool: at.pool, log: silentLog, batch: 2 })(signal);

describe('idempotency keys', () => {
  const addKey = (age: string) =>
    at.pool.query(
      `INSERT INTO idempotency_key (team_id, user_id, key, request_hash, resource_id, created_at)
       VALUES ($1, $1, $2, $3, $1, now() - $4::interval)`,
      [randomUUID(), age, randomBytes(32), age],
    );

  it('go after 48 hours, however many there are', async () => {
    const old = ['49 hours', '50 hours', '51 hours', '52 hours', '90 days'];
    await Promise.all([...old, '0 hours', '47 hours'].map(addKey));

    expect(await sweep()).toEqual({ idempotencyKeys: 5, sessions: 0, billingEvents: 0 });

    const { rows } = await at.pool.query('SELECT key FROM idempotency_key ORDER BY created_at');
    expect(rows).toEqual([{ key: '47 hours' }, { key: '0 hours' }]);
  });

  it('stay when there is no time left', async () => {
    await addKey('60 hours');

    expect(await sweep(AbortSignal.abort())).toEqual({ idempotencyKeys: 0, sessions: 0, billingEvents: 0 });
  });
});

describe('sessions', () => {
  it.each([
    ['were left idle 31 days ago', { idle: '-31 days', absolute: '-25 days' }, false],
    ['ran out 31 days ago', { idle: '-31 days', absolute: '-31 days' }, false],
    ['were revoked 31 days ago', { idle: '-30.5 days', absolute: '-25 days', revoked: '-31 days' }, false],
    ['ended 29 days ago', { idle: '-29 days', absolute: '-23 days' }, true],
    ['were revoked 29 days ago', { idle: '-28 days', absolute: '-23 days', revoked: '-29 days' }, true],
    ['are going on', { idle: '11 hours', absolute: '6 days' }, true],
  ])('that %s', async (_what, { idle, absolute, revoked = null }: Record<string, string | null>, stays) => {
    const { rows } = await at.pool.query(
      `INSERT INTO session (user_id, hash, idle_expires_at, expires_at, revoked_at)
       VALUES ($1, $2, now() + $3::interval, now() + $4::interval, now() + $5::interval) RETURNING id`,
      [userId, randomBytes(32), idle, absolute, revoked],
    );

    await sweep();

    const { rowCount } = await at.pool.query('SELECT FROM session WHERE id = $1', [rows[0].id]);
    expect(rowCount).toBe(stays ? 1 : 0);
  });

  it('go however many there are, and their users stay', async () => {
    await at.pool.query(
      `INSERT INTO session (user_id, hash, idle_expires_at, expires_at)
       SELECT $1, sha256(n::text::bytea), now() - interval '40 days', now() - interval '35 days'
       FROM generate_series(1, 7) n`,
      [userId],
    );

    expect((await sweep()).sessions).toBe(7);

    expect((await at.pool.query('SELECT FROM app_user')).rowCount).toBe(1);
  });
});

describe('ids of billing events', () => {
  it('go after 90 days', async () => {
    for (const days of [89, 91, 92, 93]) {
      await at.pool.query(
        `INSERT INTO billing_event (id, received_at) VALUES ($1, now() - make_interval(days => $2))`,
        [`evt_${days}`, days],
      );
    }

    expect((await sweep()).billingEvents).toBe(3);

    expect((await at.pool.query('SELECT id FROM billing_event')).rows).toEqual([{ id: 'evt_89' }]);
  });
});
