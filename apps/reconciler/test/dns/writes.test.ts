import type { NewWrite, RrsetWriteKind } from '@corral/dns-data';
import { readConfig } from '@corral/service';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { reconcilerConfig } from '../../src/config.js';
import { ledgerOf, records, type TestTeam, type TestWrite } from '../support/dns/dns-rows.js';
import { type Reconciling, running, startReconciling, UPSTREAM_TOKEN, ZONE } from '../support/dns/start-reconciling.js';
import { sweep as sweepRows } from '../support/sweep-rows.js';

describe('settling', () => {
  let at: Reconciling;
  let acme: TestTeam;
  beforeAll(async () => {
    at = await startReconciling();
    await at.mirrorZone();
    acme = await at.addTeam('acme');
  });
  afterAll(() => at.stop());
  beforeEach(async () => {
    at.clearUpstream();
    at.cloud.admin.resetCalls();
    await at.pool.query('DELETE FROM dns_action');
    await at.pool.query('DELETE FROM dns_audit_entry');
    await at.pool.query('DELETE FROM dns_rrset');
  });

  const upstreamHolds = (name: string, values: string[], ttl: number | null = null, labels = {}) =>
    at.cloud.admin.putRrset(ZONE, name, 'A', { ttl, labels, records: records(...values) });
  describe('a write with an unknown outcome', () => {
    const one = { records: records('192.0.2.1') };
    it.each<[string, Omit<TestWrite, 'name'>, string[] | null, { ttl?: number; labels?: object }, boolean]>([
      ['a create that arrived', { operation: 'create', body: one }, ['192.0.2.1'], {}, true],
      ['a create that did not', { operation: 'create', body: one }, null, {}, false],
      ['removed records that were all', { operation: 'remove_records', body: one }, null, {}, true],
      [
        'new labels that arrived',
        { operation: 'update', body: { labels: { a: 'b' } } },
        ['192.0.2.1'],
        { labels: { a: 'b' } },
        true,
      ],
      ['a deletion that arrived', { operation: 'delete', body: null }, null, {}, true],
    ])('is settled by a read of its set: %s', async (_what, write, upstream, { ttl, labels }, applied) => {
      if (upstream !== null) upstreamHolds('www.acme', upstream, ttl ?? null, labels ?? {});
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', ...write });

      const result = await at.workers.settleWrites(running());

      expect(result).toEqual({ settled: 1, rechecked: 0, end: 'done' });
      expect(await at.getEntry(entryId)).toMatchObject({
        state: 'settled',
        found_applied: applied,
        reserved_records: 0,
        lease_until: null,
        recheck_at: expect.any(Date),
      });
      expect(await at.mirroredValues('www.acme')).toEqual(upstream);
    });

    it('is settled by its whole request, since the audit log is cut only afterwards', async () => {
      const long = Array.from({ length: 40 }, (_, last) => ({
        value: `192.0.2.${last}`,
        comment: 'long '.repeat(200),
      }));
      at.cloud.admin.putRrset(ZONE, 'www.acme', 'A', { records: long });
      const body = { records: long };
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', operation: 'set_records', body });
      await at.pool.query(`UPDATE dns_audit_entry SET created_at = created_at - interval '1 year'`);
      const sweep = () => sweepRows(at.pool);

      expect(await sweep()).toEqual({});
      expect(await at.workers.settleWrites(running())).toMatchObject({ settled: 1, end: 'done' });
      expect(await at.getEntry(entryId)).toMatchObject({ state: 'settled', found_applied: true });

      await at.pool.query(`UPDATE dns_audit_entry SET completed_at = completed_at - interval '1 hour'`);
      expect(await sweep()).toEqual({ audit_bodies: 1 });
    });

    it('gets a finished action when its effect was found, so that clients stop polling', async () => {
      upstreamHolds('www.acme', ['192.0.2.1']);
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', operation: 'create', body: one });

      await at.workers.settleWrites(running());

      const { rows } = await at.pool.query('SELECT * FROM dns_action');
      expect(rows).toEqual([expect.objectContaining({ audit_entry_id: entryId, status: 'success', team_id: acme.id })]);
    });

    it('is left to its holder while the lease lasts', async () => {
      const lost = await at.addLostWrite(acme, { name: 'www.acme', operation: 'create', body: one });
      await at.pool.query(`UPDATE dns_audit_entry SET lease_until = clock_timestamp() + interval '1 minute'`);

      const result = await at.workers.settleWrites(running());

      expect(result.settled).toBe(0);
      expect((await at.getEntry(lost.entryId)).state).toBe('pending');
    });

    it('is taken over after the lease of a dead process', async () => {
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', operation: 'create', body: one });
      const died = at.another({}, { readRrset: () => new Promise(() => undefined) });
      const dying = new AbortController();
      void died.settleWrites(dying.signal).catch(() => undefined);
      await waitFor('the entry to be claimed', async () => (await at.getEntry(entryId)).lease_fence > 1);
      await at.pool.query("UPDATE dns_audit_entry SET lease_until = clock_timestamp() - interval '1 second'");

      const result = await at.workers.settleWrites(running());

      expect(result.settled).toBe(1);
      expect(await at.getEntry(entryId)).toMatchObject({ state: 'settled', lease_fence: 3 });
      dying.abort();
    });
  });

  describe('while the upstream is unavailable', () => {
    const away = { match: { path: '/v1/' }, times: null, effect: { status: 503 } };

    it('only a few entries are tried, and all stay pending with their reservations', async () => {
      for (const name of ['a.acme', 'b.acme', 'c.acme', 'd.acme', 'e.acme']) {
        await at.addLostWrite(acme, { name, operation: 'create', body: { records: records('192.0.2.1') } });
      }
      at.cloud.admin.addFaults({ ...away, effect: { status: 500, code: 'server_error' } }); // not retried by the client

      const result = await at.workers.settleWrites(running());

      expect(result).toEqual({ settled: 0, rechecked: 0, end: 'away' });
      const entries = await at.readEntries();
      expect(entries.map(({ state, reserved_records }) => [state, reserved_records])).toEqual(
        Array(5).fill(['pending', 1]),
      );
      expect(entries.filter(({ lease_fence }) => lease_fence > 1)).toHaveLength(3);
    });

    it('a bug with one entry does not block others', async () => {
      const body = { records: records('192.0.2.1') };
      await at.addLostWrite(acme, { name: 'odd.acme', operation: 'create', body });
      const good = await at.addLostWrite(acme, { name: 'good.acme', operation: 'create', body });
      const readRrset: typeof at.hcloud.readRrset = async (zoneId, name, ...rest) => {
        if (name === 'odd.acme') throw new TypeError('nobody thought of that');
        return at.hcloud.readRrset(zoneId, name, ...rest);
      };

      const result = await at.another({}, { readRrset }).settleWrites(running());

      expect(result).toEqual({ settled: 1, rechecked: 0, end: 'done' });
      expect((await at.getEntry(good.entryId)).state).toBe('settled');
    });

    it('a zone that is not found proves no absence of a set', async () => {
      const body = { records: records('192.0.2.1') };
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', operation: 'delete', body });
      const notFound = { status: 404, code: 'not_found' };
      at.cloud.admin.addFaults({ match: { path: '/v1/zones/' }, times: null, effect: notFound });

      const result = await at.workers.settleWrites(running());

      expect(result.settled).toBe(0);
      expect((await at.getEntry(entryId)).state).toBe('pending');
    });
  });

  describe('the recheck', () => {
    const body = { records: records('192.0.2.1') };
    /** Timestamps have a resolution of one millisecond, so events within the same one cannot be ordered. */
    const passSome = async (time: '1 second' | '5 minutes') => {
      await at.pool.query(`UPDATE dns_audit_entry SET completed_at = completed_at - interval '${time}'`);
      await at.pool.query(`UPDATE dns_action SET checked_at = checked_at - interval '${time}'`);
      await at.pool.query(`UPDATE dns_audit_entry SET recheck_at = clock_timestamp() - interval '1 second'`);
    };

    /** The write was accepted, with an action of this status. */
    const accept = ({ entryId, write }: { entryId: number; write: NewWrite }, status: 'running' | 'error') =>
      ledgerOf(at.prisma).finish(
        { entryId, fence: 1, owner: write.owner, operation: 'set_records', current: null, recordsMax: 1 },
        write.key,
        {
          state: 'completed',
          status: 201,
          body: '{}',
          recheck: true,
          rrset: '{"ttl":null,"labels":{},"records":[{"value":"192.0.2.1"}]}',
          action: { id: 1, status, body: '{}' },
        },
      );

    it('finds an effect that appeared only after the settlement', async () => {
      const { entryId } = await at.addLostWrite(acme, { name: 'www.acme', operation: 'create', body });
      await at.workers.settleWrites(running());
      upstreamHolds('www.acme', ['192.0.2.1']);
      await passSome('1 second');

      const result = await at.workers.settleWrites(running());

      expect(result).toEqual({ settled: 0, rechecked: 1, end: 'done' });
      expect(await at.mirroredValues('www.acme')).toEqual(['192.0.2.1']);
      expect((await at.getEntry(entryId)).recheck_at).toBeNull();
    });

    it('of a write with a failed action follows immediately', async () => {
      const lost = await at.addLostWrite(acme, { name: 'www.acme', operation: 'create', body });
      await accept(lost, 'error');
      await passSome('1 second');

      const result = await at.workers.settleWrites(running());

      expect(result.rechecked).toBe(1);
      expect(await at.mirroredValues('www.acme')).toBeNull();
    });
  });
});

describe('actions without a polling client', () => {
  const ACTION_MS = 30_000;

  let at: Reconciling;
  let acme: TestTeam;
  beforeAll(async () => {
    const { DNS_ACTION_INTERVAL_MS: actionIntervalMs } = readConfig(reconcilerConfig, {
      DATABASE_URL: 'postgresql://corral@db/corral',
      DNS_ZONE_NAME: ZONE,
      HCLOUD_TOKEN: UPSTREAM_TOKEN,
    });
    at = await startReconciling({ actionMs: ACTION_MS }, { actionIntervalMs });
    await at.mirrorZone();
    acme = await at.addTeam('acme');
  });
  afterAll(() => at.stop());
  beforeEach(async () => {
    at.clearUpstream();
    for (const table of ['dns_action_poll', 'dns_action', 'dns_audit_entry', 'dns_rrset']) {
      await at.pool.query(`DELETE FROM ${table}`);
    }
    at.cloud.admin.resetCalls();
    at.nudges.length = 0;
  });

  const fail = (afterMs?: number) =>
    at.cloud.admin.addFaults({
      effect: { actionError: { code: 'action_failed', message: 'sorry', ...(afterMs !== undefined && { afterMs }) } },
    });
  /** Age after which a look-up includes an action, with a margin. */
  const FRESH_MS = 3_000;

  /** A write like one of a gateway whose client never polls its action. */
  async function write(name: string, operation: RrsetWriteKind, body: object | null): Promise<void> {
    const { zoneId } = at;
    const key = { zoneId, name, type: 'A' };
    const requestBody = body === null ? null : JSON.stringify(body);
    const asked = operation === 'delete' ? { operation } : { operation, ttl: null, records: [], ...body };
    const begun = await ledgerOf(at.prisma, 60_000).begin(
      {
        owner: { kind: 'team', id: acme.id, teamId: acme.id },
        tokenId: acme.tokenId,
        key,
        write: asked as never,
        requestBody,
        requestId: null,
        requestHash: null,
      },
      () => true,
    );
    if (begun.kind !== 'begun') throw new Error(`The write did not begin: ${begun.kind}.`);
    const segments = ['zones', String(zoneId), 'rrsets', name, 'A'];
    const outcome = await at.hcloud.write({
      team: acme.id,
      body: requestBody === null ? null : Buffer.from(requestBody),
      ...(operation === 'delete'
        ? { method: 'DELETE' as const, segments }
        : { method: 'POST' as const, segments: [...segments, 'actions', operation] }),
    });
    if (outcome.kind !== 'accepted') throw new Error(`The write was ${outcome.kind}.`);
    const { action } = JSON.parse(outcome.body) as { action: { id: number; status: string } };
    await ledgerOf(at.prisma).finish(begun.lease, key, {
      state: 'completed',
      status: outcome.status,
      body: outcome.body,
      recheck: false,
      rrset: operation === 'delete' ? null : JSON.stringify({ name, type: 'A', ttl: null, labels: {}, ...body }),
      action: { ...action, body: JSON.stringify(action) },
    });
  }

  /** Moves all times into the past, here and upstream. */
  async function pass(ms: number): Promise<void> {
    at.cloud.admin.advanceClock(ms);
    const columns = {
      dns_action: ['started_at', 'checked_at', 'wanted_at'],
      dns_action_poll: ['next_at'],
      dns_audit_entry: ['created_at', 'completed_at', 'lease_until', 'recheck_at'],
    };
    for (const [table, names] of Object.entries(columns)) {
      const set = names.map((name) => `${name} = ${name} - make_interval(secs => $1::float8 / 1000)`).join(', ');
      await at.pool.query(`UPDATE ${table} SET ${set}`, [ms]);
    }
  }

  const statuses = async () =>
    (await at.pool.query<{ status: string }>('SELECT status FROM dns_action ORDER BY id')).rows.map(
      (row) => row.status,
    );
  const lookUpAgain = async () => {
    await at.pool.query('DELETE FROM dns_action_poll');
    await at.pool.query(`UPDATE dns_action SET checked_at = checked_at - interval '3 seconds'`);
    return at.workers.lookUpActions();
  };
  const actionCalls = () => at.cloud.admin.calls().byRoute['GET /v1/actions'] ?? 0;

  it('are looked up in one call until each has ended', async () => {
    for (let n = 0; n < 30; n += 1) await write(`n${n}.acme`, 'add_records', { records: records('192.0.2.1') });
    await pass(FRESH_MS);

    expect(await at.workers.lookUpActions()).toEqual({ asked: 30, failed: 0 });
    expect(new Set(await statuses())).toEqual(new Set(['running']));
    at.cloud.admin.advanceClock(ACTION_MS);
    expect(await lookUpAgain()).toEqual({ asked: 30, failed: 0 });

    expect(new Set(await statuses())).toEqual(new Set(['success']));
    expect(actionCalls()).toBe(2);
    expect(await lookUpAgain()).toEqual({ asked: 0, failed: 0 });
    expect(actionCalls()).toBe(2);
  });

  it('count as failed after a minute when they never end or are unknown upstream', async () => {
    await write('one.acme', 'add_records', { records: records('192.0.2.1') });
    await write('two.acme', 'add_records', { records: records('192.0.2.1') });
    await at.pool.query('UPDATE dns_action SET id = 1 WHERE id = (SELECT max(id) FROM dns_action)');
    await pass(FRESH_MS);
    expect(await at.workers.lookUpActions()).toEqual({ asked: 2, failed: 0 });
    expect(await statuses()).toEqual(['running', 'running']);

    await at.pool.query(`UPDATE dns_action SET started_at = started_at - interval '61 seconds'`);
    expect(await lookUpAgain()).toEqual({ asked: 2, failed: 2 });

    expect(await statuses()).toEqual(['error', 'error']);
  });

  it('cause an immediate read of their sets when they failed, which corrects mirror and quota', async () => {
    await write('www.acme', 'add_records', { records: records('192.0.2.1', '192.0.2.2') });
    at.cloud.admin.advanceClock(ACTION_MS);
    await lookUpAgain();
    fail();
    await write('www.acme', 'delete', null);
    expect(await at.mirroredValues('www.acme')).toBeNull();
    at.cloud.admin.advanceClock(ACTION_MS);

    expect(await lookUpAgain()).toMatchObject({ failed: 1 });
    await at.workers.settleWrites(running());

    expect(await at.mirroredValues('www.acme')).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(await at.readEntries('recheck_at IS NOT NULL OR records_ceiling IS NOT NULL')).toEqual([]);
  });
});
