import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { retentionLimits } from '@corral/contracts';
import { retentionRules } from '@corral/database';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import { oldRows, smallSteps, sweep, ZONE_ID } from './support.js';

let at: ClusterRows;

let given: ReturnType<typeof oldRows>;

beforeAll(async () => {
  at = await openClusterRows();
  given = oldRows(at.pool);
});

afterAll(() => at.close());

describe('rules', () => {
  let teamId: string;
  let userId: string;
  beforeEach(async () => {
    await deleteRows(at.pool);
    [teamId, userId] = [await given.team(), await given.user()];
  });

  const add = (text: string, values: unknown[]) => at.pool.query(text, values);
  const count = async (table: string): Promise<number> => (await add(`SELECT FROM ${table}`, [])).rowCount ?? 0;

  interface Aged {
    readonly table: string;
    readonly what: string;
    /** Ages past the retention, and before it. */
    readonly ages: readonly [gone: string, kept: string];
    readonly insert: (age: string) => Promise<unknown>;
  }

  const cases: Record<string, Aged> = {
    idempotency_keys: {
      table: 'idempotency_key',
      what: 'after 48 hours',
      ages: ['49 hours', '47 hours'],
      insert: (age) =>
        add(
          `INSERT INTO idempotency_key (team_id, user_id, key, request_hash, resource_id, created_at)
         VALUES ($1, $1, 'k', $2, $1, now() - $3::interval)`,
          [randomUUID(), randomBytes(32), age],
        ),
    },
    request_counts: {
      table: 'dns_request_count',
      what: 'after five hours',
      ages: ['301 minutes', '299 minutes'],
      insert: (age) =>
        add(
          `INSERT INTO dns_request_count (team_id, minute, process_id, count)
         VALUES ($1, now() - $2::interval, gen_random_uuid(), 1)`,
          [teamId, age],
        ),
    },
    usage_hours: {
      table: 'usage_hour',
      what: 'after 90 days',
      ages: ['91 days', '89 days'],
      insert: async (age) =>
        add('INSERT INTO usage_hour (team_id, hour) VALUES ($1, now() - $2::interval)', [await given.team(), age]),
    },
    team_events: {
      table: 'team_event',
      what: 'after 24 hours',
      ages: ['25 hours', '23 hours'],
      insert: (age) =>
        add(
          `INSERT INTO team_event (team_id, kind, target_id, target_name, change, created_at)
         VALUES ($1, 'Cluster', gen_random_uuid(), 'web', 'changed', now() - $2::interval)`,
          [teamId, age],
        ),
    },
    billing_events: {
      table: 'billing_event',
      what: 'after 90 days',
      ages: ['91 days', '89 days'],
      insert: (age) =>
        add('INSERT INTO billing_event (id, received_at) VALUES ($1, now() - $2::interval)', [randomUUID(), age]),
    },
    session_tokens: {
      table: 'dns_token',
      what: 'a day after they expired',
      ages: ['25 hours', '23 hours'],
      insert: (age) =>
        add(
          `INSERT INTO dns_token (team_id, created_by, session_id, name, hash, scopes, within_types, expires_at)
         VALUES ($1, $2, gen_random_uuid(), 'session', $3, '{dns}', '{}', now() - $4::interval)`,
          [teamId, userId, randomBytes(32), age],
        ),
    },
    audit_entries: {
      table: 'audit_entry',
      what: 'after the retention of the audit log',
      ages: ['401 days', '399 days'],
      insert: (age) =>
        add(
          `INSERT INTO audit_entry (team_id, action, target_kind, target_id, target_name, created_at)
         VALUES ($1, 'cluster.delete', 'Cluster', gen_random_uuid(), 'web', now() - $2::interval)`,
          [teamId, age],
        ),
    },
    operations: {
      table: 'operation',
      what: '90 days after the last one of a deleted target',
      ages: ['91 days', '89 days'],
      insert: (age) => given.operation(teamId, randomUUID(), age),
    },
  };

  describe.each(Object.entries(cases))('%s', (rule, { table, what, ages: [gone, kept], insert }) => {
    it(`are deleted ${what} and not before, in several steps`, async () => {
      for (const age of [gone, kept, gone, gone, kept, gone, gone]) await insert(age);
      const steps: number[] = [];
      const pool = {
        query: async (text: string, values: unknown[]) => {
          const answer = await at.pool.query(text, values);
          steps.push(answer.rowCount ?? 0);
          return answer;
        },
      } as unknown as typeof at.pool;
      const rules = smallSteps().filter(({ name }) => name === rule);

      expect(await sweep(pool, { rules })).toEqual({ [rule]: 5 });

      expect(steps).toEqual([2, 2, 1]);
      expect(await count(table)).toBe(2);
      expect(await sweep(at.pool)).toEqual({});
    });

    it('are deleted once by two concurrent sweeps, and locked rows later', async () => {
      for (let row = 0; row < 9; row += 1) await insert(gone);
      const held = await at.pool.connect();
      await held.query('BEGIN');
      await held.query(`SELECT FROM ${table} LIMIT 3 FOR UPDATE`);

      const both = await Promise.all([sweep(at.pool), sweep(at.pool)]);

      const taken = both.map((swept) => swept[rule] ?? 0);
      expect((taken[0] ?? 0) + (taken[1] ?? 0)).toBe(6);
      await held.query('ROLLBACK');
      held.release();
      expect(await sweep(at.pool)).toEqual({ [rule]: 3 });
    });

    it('stay when the sweep is aborted', async () => {
      await insert(gone);

      expect(await sweep(at.pool, { signal: AbortSignal.abort() })).toEqual({});

      expect(await count(table)).toBe(1);
    });
  });

  describe('sessions', () => {
    it.each([
      ['became idle 31 days ago', { idle: '-31 days', absolute: '-25 days' }, false],
      ['expired 31 days ago', { idle: '-31 days', absolute: '-31 days' }, false],
      ['were revoked 31 days ago', { idle: '-30.5 days', absolute: '-25 days', revoked: '-31 days' }, false],
      ['ended 29 days ago', { idle: '-29 days', absolute: '-23 days' }, true],
      ['were revoked 29 days ago', { idle: '-28 days', absolute: '-23 days', revoked: '-29 days' }, true],
      ['are active', { idle: '11 hours', absolute: '6 days' }, true],
    ])('that %s', async (_what, { idle, absolute, revoked = null }: Record<string, string | null>, stays) => {
      await add(
        `INSERT INTO session (user_id, hash, idle_expires_at, expires_at, revoked_at)
       VALUES ($1, $2, now() + $3::interval, now() + $4::interval, now() + $5::interval)`,
        [userId, randomBytes(32), idle, absolute, revoked],
      );

      expect(await sweep(at.pool)).toEqual(stays ? {} : { sessions: 1 });

      expect([await count('session'), await count('app_user')]).toEqual([stays ? 1 : 0, 1]);
    });
  });

  describe('invitations', () => {
    it.each([
      ['were accepted 31 days ago', { expires: '-20 days', accepted: '-31 days' }, false],
      ['were revoked 31 days ago', { expires: '-20 days', revoked: '-31 days' }, false],
      ['expired 31 days ago', { expires: '-31 days' }, false],
      ['were accepted 29 days ago', { expires: '-20 days', accepted: '-29 days' }, true],
      ['expired 29 days ago', { expires: '-29 days' }, true],
      ['wait for an answer', { expires: '13 days' }, true],
    ])('that %s', async (_what, dates: Record<string, string>, stays) => {
      const { expires, accepted = null, revoked = null } = dates;
      await add(
        `INSERT INTO invitation (team_id, email, role, invited_by, created_at, expires_at, accepted_at, revoked_at)
       VALUES ($1, 'bob@acme.test', 'member', $2, now() - interval '1 year', now() + $3::interval, now() + $4::interval,
               now() + $5::interval)`,
        [teamId, userId, expires, accepted, revoked],
      );

      expect(await sweep(at.pool)).toEqual(stays ? {} : { invitations: 1 });

      expect(await count('invitation')).toBe(stays ? 1 : 0);
    });
  });

  describe('operations', () => {
    it('stay at any age while their cluster exists', async () => {
      const team = await at.addTeam();
      const cluster = await at.declare(team, await at.addConnection(team));
      await given.operation(team.id, cluster.id, '5 years');

      expect(await sweep(at.pool)).toEqual({});
    });

    it('of an existing cluster stay while they are open, or among the newest 20 of their kind', async () => {
      const team = await at.addTeam();
      const cluster = await at.declare(team, await at.addConnection(team));
      const open = await given.operation(team.id, cluster.id, null);
      const ended: string[] = [];
      for (let age = 130; age > 100; age -= 1) ended.push(await given.operation(team.id, cluster.id, `${age} days`));
      const young = await given.operation(team.id, cluster.id, '89 days');

      expect(await sweep(at.pool)).toEqual({ operations: 11 });

      const { rows } = await at.pool.query('SELECT id FROM operation WHERE kind = $1', ['cluster.update']);
      expect(new Set(rows.map(({ id }) => id))).toEqual(new Set([open, ...ended.slice(11), young]));
      expect(await count('operation')).toBeGreaterThan(rows.length);
    });

    it('stay until 90 days after the last one for the same target', async () => {
      const targetId = randomUUID();
      for (const age of ['5 years', '4 years', '91 days']) await given.operation(teamId, targetId, age);
      const last = await given.operation(teamId, targetId, '89 days');
      expect(await sweep(at.pool)).toEqual({});

      await at.pool.query('DELETE FROM operation WHERE id = $1', [last]);

      expect(await sweep(at.pool)).toEqual({ operations: 3 });
    });

    it('stay while another one for the same target is running', async () => {
      const targetId = randomUUID();
      await given.operation(teamId, targetId, '5 years');
      await given.operation(teamId, targetId, null);

      expect(await sweep(at.pool)).toEqual({});
    });
  });

  describe('zone sync runs', () => {
    const addRun = (age: string, state: string) =>
      add(
        `INSERT INTO dns_sync_run (zone_name, reason, state, started_at, finished_at)
       VALUES ('example.test', 'schedule', $2, now() - $1::interval, now() - $1::interval)`,
        [age, state],
      );

    it('are deleted after 30 days', async () => {
      for (const age of ['40 days', '35 days', '31 days', '29 days']) await addRun(age, 'succeeded');

      expect(await sweep(at.pool)).toEqual({ sync_runs: 3 });
    });

    it('stay at any age when they are the last successful ones', async () => {
      await addRun('50 days', 'succeeded');
      await addRun('2 years', 'succeeded');
      await addRun('40 days', 'failed');

      expect(await sweep(at.pool)).toEqual({ sync_runs: 1 });

      expect(await count('dns_sync_run')).toBe(2);
    });
  });
});

describe('dns log', () => {
  let teamId: string;
  let tokenId: string;
  beforeEach(async () => {
    await deleteRows(at.pool);
    await given.zone();
    teamId = await given.team();
    tokenId = await given.token(teamId);
  });

  const ids = async (table: string): Promise<unknown[]> =>
    (await at.pool.query(`SELECT id FROM ${table} ORDER BY id`)).rows.map(({ id }) => id);

  describe('entries of the DNS audit log', () => {
    it('are deleted with their actions only after the retention of the audit log', async () => {
      const young = await given.entry(teamId, tokenId, '399 days');
      await given.action(young, teamId, '399 days');
      for (const age of ['401 days', '402 days', '500 days']) {
        await given.action(await given.entry(teamId, tokenId, age), teamId, age);
      }

      expect(await sweep(at.pool)).toEqual({ dns_actions: 3, dns_audit_entries: 3 });

      expect([await ids('dns_audit_entry'), await ids('dns_action')]).toEqual([[young], [young]]);
      expect(await ids('dns_token')).toEqual([tokenId]);
    });

    it('stay at any age while their outcome is unknown or their recheck is pending', async () => {
      const kept = [
        await given.entry(teamId, tokenId, '5 years', { state: 'pending' }),
        await given.entry(teamId, tokenId, '5 years', { state: 'settled', recheckAt: 'now' }),
      ];
      await given.entry(teamId, tokenId, '5 years', { state: 'settled' });

      expect(await sweep(at.pool)).toEqual({ dns_audit_entries: 1 });

      expect(await ids('dns_audit_entry')).toEqual(kept);
    });

    it('are deleted once by two concurrent sweeps', async () => {
      for (let entry = 0; entry < 12; entry += 1) await given.entry(teamId, tokenId, '401 days');

      const both = await Promise.all([sweep(at.pool), sweep(at.pool)]);

      const taken = both.map((swept) => swept.dns_audit_entries ?? 0);
      expect((taken[0] ?? 0) + (taken[1] ?? 0)).toBe(12);
    });

    it('are kept for the configured number of days', async () => {
      await given.entry(teamId, tokenId, '8 days');

      expect(await sweep(at.pool, { rules: retentionRules({ auditDays: 9 }) })).toEqual({});
      expect(await sweep(at.pool, { rules: retentionRules({ auditDays: 7 }) })).toEqual({ dns_audit_entries: 1 });
    });
  });

  describe('ended demos', () => {
    it('are deleted with their tokens after their last audit entry', async () => {
      const young = await given.demo(teamId, '399 days');
      for (const age of ['401 days', '402 days', '403 days']) await given.demo(teamId, age);

      expect(await sweep(at.pool)).toEqual({ dns_audit_entries: 3, demo_tokens: 3, demos: 3 });

      expect(await ids('demo')).toEqual([young.id]);
      expect(new Set(await ids('dns_token'))).toEqual(new Set([tokenId, young.tokenId]));
    });

    it('stay while an audit entry refers to them', async () => {
      const { entryId } = await given.demo(teamId, '500 days');
      await at.pool.query('UPDATE dns_audit_entry SET created_at = now() WHERE id = $1', [entryId]);

      expect(await sweep(at.pool)).toEqual({});
    });
  });

  describe('a sweep', () => {
    it('sweeps the other tables when one fails, and fails afterwards', async () => {
      await given.entry(teamId, tokenId, '401 days');
      const [first, ...others] = smallSteps();
      const rules = [{ ...(first as (typeof others)[number]), since: 'no_such_column' }, ...others];

      await expect(sweep(at.pool, { rules })).rejects.toMatchObject({ code: '42703' });

      expect(await ids('dns_audit_entry')).toEqual([]);
    });
  });
});

describe('a body in the DNS audit log', () => {
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
});
