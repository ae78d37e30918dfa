import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { retentionLimits } from '@corral/contracts';
import { retentionRules } from '@corral/database';
import { createMetrics } from '@corral/service';
import { deleteRows } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { countOperations, openOperationMetrics, operationEndMetrics } from '../src/upkeep/operations.js';
import { operatorMetrics } from '../src/upkeep/operator-metrics.js';
import { ownTables, tableSizeMetrics, tableSizes } from '../src/upkeep/retention.js';
import { type ClusterRows, openClusterRows, type TestTeam } from './support/cluster-rows.js';
import { oldRows, smallSteps, sweep, ZONE_ID } from './support/sweep-rows.js';

let at: ClusterRows;
let given: ReturnType<typeof oldRows>;
beforeAll(async () => {
  at = await openClusterRows();
  given = oldRows(at.pool);
});
afterAll(() => at.close());

describe('sweeps', () => {
  describe('rules', () => {
    let teamId: string;
    let userId: string;
    beforeEach(async () => {
      await deleteRows(at.pool);
      [teamId, userId] = [await given.team(), await given.user()];
    });

    const add = (text: string, values: unknown[]) => at.pool.query(text, values);
    const count = async (table: string): Promise<number> => (await add(`SELECT FROM ${table}`, [])).rowCount ?? 0;

    it.each([
      [
        'idempotency_keys',
        '48 hours',
        `idempotency_key (team_id, user_id, key, request_hash, resource_id, created_at)
         SELECT id, id, 'k', :hash, id, :ago FROM gen_random_uuid() AS id`,
      ],
      [
        'request_counts',
        '5 hours',
        `dns_request_count (team_id, minute, process_id, count) VALUES (:team, :ago, gen_random_uuid(), 1)`,
      ],
      [
        'usage_hours',
        '90 days',
        `usage_hour (team_id, hour) SELECT :team, :ago - interval '1 s' * count(*) FROM usage_hour`,
      ],
      [
        'addresses',
        '400 days',
        `team_address (team_id, owner_name, kind, name, address, gone_at)
         VALUES (:team, 'web', 'loadBalancer', 'web/edge', '192.0.2.1', :ago)`,
      ],
      [
        'team_events',
        '24 hours',
        `team_event (team_id, kind, target_id, target_name, change, created_at)
         VALUES (:team, 'Cluster', gen_random_uuid(), 'web', 'changed', :ago)`,
      ],
      [
        'notifications',
        '90 days',
        `notification (user_id, team_id, kind, key, name, detail, created_at)
         VALUES (:user, :team, 'failed_operations', gen_random_uuid(), 'web', '', :ago)`,
      ],
      ['billing_events', '90 days', `billing_event (id, received_at) VALUES (gen_random_uuid(), :ago)`],
      [
        'session_tokens',
        '1 day',
        `dns_token (team_id, created_by, session_id, name, hash, scopes, within_types, expires_at)
         VALUES (:team, :user, gen_random_uuid(), 'session', :hash, '{dns}', '{}', :ago)`,
      ],
      [
        'device_sign_ins',
        '1 day',
        `device_sign_in (hash, user_code, name, address, user_agent, poll_seconds, expires_at)
         VALUES (:hash, gen_random_uuid(), 'Corral CLI', '203.0.113.7', '', 5, :ago)`,
      ],
      [
        'audit_entries',
        '400 days',
        `audit_entry (team_id, action, target_kind, target_id, target_name, created_at)
         VALUES (:team, 'cluster.delete', 'Cluster', gen_random_uuid(), 'web', :ago)`,
      ],
    ])('%s are deleted after %s and not before, in several steps', async (rule, age, row) => {
      const insert = (sooner: string) =>
        add(
          `INSERT INTO ${row
            .replaceAll(':team', `'${teamId}'`)
            .replaceAll(':user', `'${userId}'`)
            .replaceAll(':hash', 'sha256(gen_random_uuid()::text::bytea)')
            .replaceAll(':ago', `now() - interval '${age}' + interval '${sooner}'`)}`,
          [],
        );
      for (const sooner of ['-5 minutes', '5 minutes']) for (let n = 0; n < 5; n += 1) await insert(sooner);

      expect(await sweep(at.pool)).toEqual({ [rule]: 5 });

      expect(await count(row.split(' ')[0] ?? '')).toBe(5);
      expect(await sweep(at.pool)).toEqual({});
    });

    it.each([
      ['became idle 31 days ago', { idle: '-31 days', absolute: '-25 days' }, false],
      ['expired 31 days ago', { idle: '-31 days', absolute: '-31 days' }, false],
      ['were revoked 31 days ago', { idle: '-30.5 days', absolute: '-25 days', revoked: '-31 days' }, false],
      ['ended 29 days ago', { idle: '-29 days', absolute: '-23 days' }, true],
      ['were revoked 29 days ago', { idle: '-28 days', absolute: '-23 days', revoked: '-29 days' }, true],
      ['are active', { idle: '11 hours', absolute: '6 days' }, true],
    ])('sessions that %s', async (_what, { idle, absolute, revoked = null }: Record<string, string | null>, stays) => {
      await add(
        `INSERT INTO session (user_id, hash, idle_expires_at, expires_at, revoked_at)
     VALUES ($1, $2, now() + $3::interval, now() + $4::interval, now() + $5::interval)`,
        [userId, randomBytes(32), idle, absolute, revoked],
      );

      expect(await sweep(at.pool)).toEqual(stays ? {} : { sessions: 1 });

      expect([await count('session'), await count('app_user')]).toEqual([stays ? 1 : 0, 1]);
    });

    it.each([
      ['were accepted 31 days ago', { expires: '-20 days', accepted: '-31 days' }, false],
      ['were revoked 31 days ago', { expires: '-20 days', revoked: '-31 days' }, false],
      ['expired 31 days ago', { expires: '-31 days' }, false],
      ['were accepted 29 days ago', { expires: '-20 days', accepted: '-29 days' }, true],
      ['expired 29 days ago', { expires: '-29 days' }, true],
      ['wait for an answer', { expires: '13 days' }, true],
    ])('invitations that %s', async (_what, dates: Record<string, string>, stays) => {
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

    describe('operations', () => {
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

    it('a sweep sweeps the other tables when one fails, and fails afterwards', async () => {
      await given.entry(teamId, tokenId, '401 days');
      const [first, ...others] = smallSteps();
      const rules = [{ ...(first as (typeof others)[number]), since: 'no_such_column' }, ...others];

      await expect(sweep(at.pool, { rules })).rejects.toMatchObject({ code: '42703' });

      expect(await ids('dns_audit_entry')).toEqual([]);
    });
  });

  describe('a body in the DNS audit log', () => {
    const BYTES = retentionLimits.auditBodyBytes;
    const KINDS = ['request', 'upstream', 'found', 'before', 'after'] as const;

    let teamId: string;
    beforeEach(async () => {
      await deleteRows(at.pool);
      await given.zone();
      teamId = await given.team();
    });

    async function addEntry(body: string, kind = 'request', state = 'completed', age = '11 minutes'): Promise<number> {
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
      const id = await addEntry(body, kind);

      expect(await sweep(at.pool)).toEqual({ audit_bodies: 1 });

      expect(await kept(id, kind)).toEqual({ body: body.slice(0, BYTES), bytes: body.length, sha256: sha256(body) });
      expect(await sweep(at.pool)).toEqual({});
    });

    it.each(['ä', '😀'])('is never cut inside a character (%s)', async (character) => {
      const bodies = [0, 1, 2, 3].map((before) => 'x'.repeat(before) + character.repeat(20_000));
      const ids = [];
      for (const body of bodies) ids.push(await addEntry(body));

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

    it('stays whole at any age while its write is pending, since the settlement needs it', async () => {
      const body = 'x'.repeat(BYTES + 1);
      const id = await addEntry(body, 'request', 'pending');

      expect(await sweep(at.pool)).toEqual({});

      expect(await kept(id)).toEqual(whole(body));
    });

    it('stays whole for ten minutes, since a client may repeat the request', async () => {
      const id = await addEntry('x'.repeat(BYTES + 1), 'upstream', 'completed', '9 minutes');

      expect(await sweep(at.pool)).toEqual({});

      expect(await kept(id, 'upstream')).toMatchObject({ bytes: null });
      expect(retentionLimits.auditBodyWholeSeconds).toBeGreaterThan(2 * retentionLimits.replaySeconds);
    });
  });
});

describe('operations and sizes', () => {
  beforeAll(() => deleteRows(at.pool));

  describe('count operations', () => {
    let team: TestTeam;
    beforeAll(async () => {
      team = await at.addTeam();
    });
    beforeEach(() => at.pool.query('DELETE FROM operation; DELETE FROM operation_total'));
    afterAll(() => at.pool.query('DELETE FROM operation; DELETE FROM operation_total'));

    const count = () => countOperations(at.pool)(new AbortController().signal);

    /** Operations that ended in this way after so many seconds. */
    const add = (kind: string, state: string, { code = null as string | null, seconds = 60, times = 1 } = {}) =>
      at.pool.query(
        `INSERT INTO operation (team_id, kind, target_kind, target_id, target_name, generation, state, progress, error, desired_hash,
                            created_at, finished_at)
     SELECT $1, $2, 'Cluster', gen_random_uuid(), 'shop', 1, $3::operation_state, CASE WHEN $3 = 'succeeded' THEN 100 ELSE 0 END,
            CASE WHEN $4::text IS NULL THEN '{}' ELSE jsonb_build_object('code', $4::text) END, 'x',
            now() - make_interval(secs => $5), CASE WHEN $3 NOT IN ('queued', 'running') THEN now() END
     FROM generate_series(1, $6)`,
        [team.id, kind, state, code, seconds, times],
      );

    /** What a newly started process reports: `cluster.create succeeded` and its value, without zeros. */
    async function scrape(name: string): Promise<Record<string, number>> {
      const metrics = createMetrics({ service: 'test' });
      operationEndMetrics(metrics, at.prisma);
      const [text] = await Promise.all([metrics.registry.metrics(), metrics.registry.metrics()]);
      return Object.fromEntries(
        [...text.matchAll(new RegExp(`^${name}\\{kind="(.*?)",outcome="(.*?)".*\\} (\\S+)$`, 'gm'))]
          .filter(([, , , value]) => value !== '0')
          .map(([, kind, outcome, value]) => [`${kind} ${outcome}`, Number(value)]),
      );
    }

    describe('the counters of ended operations', () => {
      it('tell failures of the service from those that the team can fix, and have no open operation', async () => {
        await add('cluster.create', 'succeeded', { times: 2 });
        await add('cluster.create', 'failed', { code: 'provider_quota_exceeded' });
        await add('cluster.create', 'failed', { code: 'shoot_missing' });
        await add('cluster.update', 'failed', { code: 'a_code_of_a_later_release' });
        await add('cluster.update', 'superseded');
        await add('cluster.delete', 'running');

        expect(await count()).toBe(6);

        expect(await scrape('corral_operations_ended_total')).toEqual({
          'cluster.create succeeded': 2,
          'cluster.create failed_user': 1,
          'cluster.create failed_platform': 1,
          'cluster.update failed_platform': 1,
          'cluster.update superseded': 1,
        });
        expect(await scrape('corral_operations_ended_seconds_total')).toMatchObject({
          'cluster.create succeeded': 120,
        });
      });

      it('say which took longer than their kind may; one that may wait for a person is never late', async () => {
        await add('cluster.create', 'succeeded', { seconds: 1_799 });
        await add('cluster.create', 'succeeded', { seconds: 1_801 });
        await add('server.adopt', 'succeeded', { seconds: 86_400 });
        await count();

        expect(await scrape('corral_operations_late_total')).toEqual({ 'cluster.create succeeded': 1 });
      });

      it('have each end once, however many processes count at the same time', async () => {
        await add('cluster.create', 'succeeded', { times: 1_200 });
        const counted = await Promise.all([count(), count(), count()]);
        await add('cluster.create', 'succeeded');
        await count();

        expect(counted.reduce((sum, each) => sum + each)).toBe(1_200);
        expect(await scrape('corral_operations_ended_total')).toEqual({ 'cluster.create succeeded': 1_201 });
      });
    });

    it('an ended operation changes in nothing but the mark that it is counted', async () => {
      await add('cluster.create', 'succeeded');

      await expect(at.pool.query(`UPDATE operation SET is_counted = true, target_name = 'other'`)).rejects.toThrow(
        /a final state never changes/,
      );
    });

    it('only a failed operation may end again: as succeeded, once its work is done after all', async () => {
      await add('cluster.delete', 'failed');
      const become = (state: string, progress: number) =>
        at.pool.query(`UPDATE operation SET state = $1, progress = $2`, [state, progress]);

      await expect(become('running', 50)).rejects.toThrow(/a final state never changes/);
      await become('succeeded', 100);
      await expect(become('failed', 100)).rejects.toThrow();
    });
  });

  it('the ages of the last backup, absent while there was none, and of the hold in force are metrics', async () => {
    const metrics = createMetrics({ service: 'test' });
    operatorMetrics(metrics, at.prisma);
    const ageOf = async (what: string) =>
      new RegExp(`^corral_${what}_age_seconds\\{.*\\} (\\S+)$`, 'm').exec(await metrics.registry.metrics())?.[1];
    expect([await ageOf('backup'), await ageOf('hold')]).toEqual([undefined, '0']);

    await at.pool.query(
      `INSERT INTO operator_act (operator, action, target_kind, target_name, created_at)
       SELECT 'cron', 'database.backup', 'Database', 'a file', now() - make_interval(hours => ago) FROM unnest(ARRAY[5, 2]) AS ago`,
    );

    await at.pool.query(
      `INSERT INTO installation_hold (reason, begun_at) VALUES ('requested', now() - interval '3 hours')`,
    );

    const ages = [await ageOf('backup'), await ageOf('hold')];
    await at.pool.query('DELETE FROM installation_hold');
    expect(ages.map((seconds) => Math.floor(Number(seconds) / 3_600))).toEqual([2, 3]);
  });

  describe('open operations', () => {
    afterEach(() =>
      at.pool.query(`UPDATE operation SET state = 'cancelled', finished_at = now() WHERE finished_at IS NULL`),
    );

    const valuesOf = async (name: string) => {
      const metrics = createMetrics({ service: 'test' });
      openOperationMetrics(metrics, at.prisma);
      const text = await metrics.registry.metrics();
      return [...text.matchAll(new RegExp(`^corral_${name}\\S* (\\S+)$`, 'gm'))].map(([, value]) => Number(value));
    };
    const declared = async () => {
      const team = await at.addTeam();
      const connectionId = await at.addConnection(team);
      return [await at.declare(team, connectionId), await at.declare(team, connectionId)] as const;
    };

    it('have the age of the oldest, 0 without one, while others are newer or ended', async () => {
      expect(await valuesOf('operation_open_age_seconds')).toEqual([0]);
      const [ended, oldest] = await declared();
      await declared();
      const age = 'UPDATE operation SET created_at = now() - make_interval(hours => $2) WHERE id = $1';
      await at.pool.query(age, [oldest.operationId, 2]);
      await at.pool.query(age, [ended.operationId, 5]);
      await at.pool.query(
        `UPDATE operation SET state = 'succeeded', progress = 100, finished_at = now() WHERE id = $1`,
        [ended.operationId],
      );

      const [seconds = 0] = await valuesOf('operation_open_age_seconds');

      expect(Math.floor(seconds / 3_600)).toBe(2);
    });

    it('are overdue when open for longer than their kind may; those that have ended are not counted', async () => {
      const [open, ended] = await declared();
      await declared();
      await at.pool.query(
        `UPDATE operation SET kind = 'connection.verify', created_at = now() - interval '301 s',
                              state = CASE WHEN id = $2 THEN 'cancelled' ELSE state END,
                              finished_at = CASE WHEN id = $2 THEN now() END
         WHERE id IN ($1, $2)`,
        [open.operationId, ended.operationId],
      );

      expect(await valuesOf('operations_overdue\\{kind="connection.verify"')).toEqual([1]);
    });
  });

  describe('the sizes of tables', () => {
    beforeAll(() => deleteRows(at.pool));

    it('are reported for each of our tables, and no others', async () => {
      await at.pool.query('CREATE TABLE somebody_elses (id int)');
      await at.pool.query('ANALYZE');
      const all = createMetrics({ service: 'test' });
      tableSizeMetrics(all, tableSizes(at.pool));

      const text = await all.registry.metrics();

      for (const kind of ['rows', 'bytes']) {
        const tables = [...text.matchAll(new RegExp(`^corral_table_${kind}\\{(?:.*,)?table="(\\w+)".*$`, 'gm'))];
        expect(tables.map(([, table]) => table).sort()).toEqual([...ownTables].sort());
      }
      const { rows } = await at.pool.query(
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public'
         AND tablename NOT IN ('_prisma_migrations', 'somebody_elses')`,
      );
      expect(rows.map(({ tablename }) => tablename).sort()).toEqual([...ownTables].sort());
    });
  });
});
