import { randomBytes, randomUUID } from 'node:crypto';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import { oldRows, smallSteps, sweep } from './support.js';

let at: ClusterRows;
let given: ReturnType<typeof oldRows>;
let teamId: string;
let userId: string;
beforeAll(async () => {
  at = await openClusterRows();
  given = oldRows(at.pool);
});
afterAll(() => at.close());
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
