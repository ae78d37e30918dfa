import type { RrsetWriteKind } from '@corral/dns-data';
import { readConfig } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intervalsOf, reconcilerConfig } from '../src/config.js';
import { ledgerOf, records, type TestTeam } from './support/dns/dns-rows.js';
import {
  type Reconciling,
  running,
  settings,
  startReconciling,
  UPSTREAM_TOKEN,
  ZONE,
} from './support/dns/start-reconciling.js';

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
  (await at.pool.query<{ status: string }>('SELECT status FROM dns_action ORDER BY id')).rows.map((row) => row.status);
const lookUpAgain = async () => {
  await at.pool.query('DELETE FROM dns_action_poll');
  await at.pool.query(`UPDATE dns_action SET checked_at = checked_at - interval '3 seconds'`);
  return at.workers.lookUpActions();
};
const actionCalls = () => at.cloud.admin.calls().byRoute['GET /v1/actions'] ?? 0;

describe('actions without a polling client', () => {
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

  it('cost at most one call per interval with several reconcilers', async () => {
    await write('www.acme', 'add_records', { records: records('192.0.2.1') });
    await pass(FRESH_MS);

    await Promise.all([at.workers, at.another(), at.another()].map((each) => each.lookUpActions()));
    await at.workers.lookUpActions();

    expect(actionCalls()).toBe(1);
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

  it.each([100, 1_900, 4_000, 7_900, 9_900])(
    'leave the mirror wrong for at most 15 s when they fail %s ms after a call',
    async (sinceCallMs) => {
      const everyMs = intervalsOf({ DNS_ACTION_INTERVAL_MS: settings.actionIntervalMs } as never).lookUp;
      await write('other.acme', 'add_records', { records: records('192.0.2.1') });
      await pass(FRESH_MS);
      await at.workers.lookUpActions();
      await pass(sinceCallMs);
      const asked = actionCalls();
      fail(0);
      await write('www.acme', 'add_records', { records: records('192.0.2.2') });
      expect(await at.mirroredValues('www.acme')).toEqual(['192.0.2.2']);

      let wrongMs = 0;
      while ((await at.mirroredValues('www.acme')) !== null && wrongMs <= 60_000) {
        await pass(everyMs);
        wrongMs += everyMs;
        await at.workers.handlers['look-up-actions']({}, { signal: running() } as never);
        for (const { name } of at.nudges.splice(0)) {
          expect(name).toBe('settle-writes');
          await at.workers.handlers['settle-writes']({}, { signal: running() } as never);
        }
      }

      expect(wrongMs).toBeLessThanOrEqual(15_000);
      expect(actionCalls() - asked).toBe(1);
    },
  );

  it('trigger a settle pass when they failed', async () => {
    fail();
    await write('www.acme', 'add_records', { records: records('192.0.2.1') });
    await pass(ACTION_MS);

    await at.workers.handlers['look-up-actions']({}, { signal: running() } as never);

    expect(at.nudges.map(({ name }) => name)).toEqual(['settle-writes']);
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

  it('stay unchanged while the upstream is unavailable', async () => {
    await write('www.acme', 'add_records', { records: records('192.0.2.1') });
    await pass(61_000);
    at.cloud.admin.addFaults({ times: null, effect: { status: 500 } });

    expect(await at.workers.lookUpActions()).toEqual({ asked: 1, failed: 0 });

    expect(await statuses()).toEqual(['running']);
  });
});
