import { demoEnds } from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addDemos,
  clearDemoRows,
  countDeletions,
  demoOf,
  mirrorDemoZone,
  mirroredNames,
  passTime,
  putSets,
  upstreamNames,
} from '../support/dns/demo-rows.js';
import { ledgerOf, records, type TestTeam } from '../support/dns/dns-rows.js';
import { DEMO_ZONE, type Reconciling, running, startReconciling, ZONE } from '../support/dns/start-reconciling.js';

let at: Reconciling;
let acme: TestTeam;
beforeAll(async () => {
  at = await startReconciling({}, { demoZoneName: DEMO_ZONE, graceMs: 0 });
  await mirrorDemoZone(at);
  acme = await at.addTeam('acme');
});
afterAll(() => at.stop());

describe('the deletion of records of demos', () => {
  beforeEach(() => clearDemoRows(at));

  const clear = (workers = at.another()) => workers.clearDemos(running());
  /** Ended demos with record sets at their names. */
  async function ended(sets: Readonly<Record<string, readonly string[]>>): Promise<void> {
    await addDemos(at, acme, Object.keys(sets));
    await putSets(at, Object.values(sets).flat());
    await at.workers.expireDemos(running());
  }

  describe('record sets of ended demos', () => {
    it('are deleted upstream with audit entries, and nothing else is', async () => {
      await addDemos(at, acme, ['live'], 60);
      await putSets(at, ['live', 'www.live', 'by-hand', 'www.by-hand']);
      await ended({ shop: ['shop', '*.shop', 'a.b.shop'], empty: [] });

      const result = await clear();

      expect(result).toEqual({ deleted: 3, end: 'done' });
      const kept = ['by-hand', 'live', 'www.by-hand', 'www.live'];
      expect([upstreamNames(at), await mirroredNames(at)]).toEqual([kept, kept]);
      const entries = await at.readEntries(`operation = 'delete'`);
      expect(entries).toHaveLength(3);
      for (const entry of entries)
        expect(entry).toMatchObject({ actor: 'service', state: 'completed', team_id: acme.id });
    });

    it('include the set of a write that was pending when the demo ended', async () => {
      await addDemos(at, acme, ['late'], 60);
      const { id } = await demoOf(at, 'late');
      const begun = await ledgerOf(at.prisma).begin(
        {
          owner: { kind: 'demo', id, teamId: acme.id },
          tokenId: await tokenOf(id),
          key: { zoneId: at.demoZoneId, name: 'www.late', type: 'A' },
          write: { operation: 'create', ttl: null, labels: {}, records: records('192.0.2.1') },
          requestBody: JSON.stringify({ name: 'www.late', type: 'A', records: records('192.0.2.1') }),
          requestId: null,
          requestHash: null,
        },
        () => true,
      );
      expect(begun.kind).toBe('begun');
      await passTime(at, 120);
      await at.workers.expireDemos(running());
      at.cloud.admin.putRrset(DEMO_ZONE, 'www.late', 'A', { records: records('192.0.2.1') });
      expect(await clear()).toEqual({ deleted: 0, end: 'done' });

      await at.workers.settleWrites(running());
      const result = await clear();

      expect([result.deleted, upstreamNames(at)]).toEqual([1, []]);
    });

    it('include sets that a later sync finds', async () => {
      await ended({ lost: ['lost'] });
      at.cloud.admin.addFaults({
        match: { method: 'DELETE' },
        effect: { actionError: { code: 'action_failed', message: 'The zone was locked.' } },
      });
      await clear();
      expect([upstreamNames(at), await mirroredNames(at)]).toEqual([['lost'], []]);

      await passTime(at, 60);
      await at.workers.demoZoneSync?.({ reason: 'schedule' }, running());
      expect(await mirroredNames(at)).toEqual(['lost']);
      await clear();

      expect([upstreamNames(at), await mirroredNames(at)]).toEqual([[], []]);
    });
  });

  const HOUR = 3_600;

  it('a failed deletion is retried with growing delays, and does not delay other demos', async () => {
    await ended({ stuck: ['stuck'], fine: ['fine'] });
    at.cloud.admin.addFaults({
      match: { method: 'DELETE', path: '/stuck/' },
      times: null,
      effect: { status: 423, code: 'protected' },
    });

    let begunAt = Date.now();
    expect((await clear()).deleted).toBe(1);
    expect(upstreamNames(at)).toEqual(['stuck']);
    for (const [failures, seconds] of [
      [1, 10],
      [2, 20],
      [3, 40],
    ] as const) {
      const { clear_failures, clear_at } = await demoOf(at, 'stuck');
      expect(clear_failures).toBe(failures);
      const inSeconds = (clear_at.getTime() - begunAt) / 1_000;
      expect(inSeconds).toBeGreaterThan(seconds - 1);
      expect(inSeconds).toBeLessThanOrEqual((Date.now() - begunAt) / 1_000 + seconds + 1);
      await passTime(at, -HOUR); // keeps it from being due on a slow machine
      expect(await clear()).toEqual({ deleted: 0, end: 'done' });
      expect((await demoOf(at, 'stuck')).clear_failures).toBe(failures);
      await passTime(at, HOUR + seconds);
      begunAt = Date.now();
      await clear();
    }
    at.cloud.admin.clearFaults();
    await passTime(at, 600);

    expect((await clear()).deleted).toBe(1);
    expect(upstreamNames(at)).toEqual([]);
  });

  describe('a crash', () => {
    const dieBefore: Partial<HcloudClient> = {
      write: async () => {
        throw new Error('killed');
      },
    };
    const dieAfter: Partial<HcloudClient> = {
      write: async (write, options) => {
        await at.hcloud.write(write, options);
        throw new Error('killed');
      },
    };

    it.each([
      ['after the entry and before the call', dieBefore, ['a']],
      ['after the call and before its outcome was recorded', dieAfter, []],
    ])('%s is repaired by the next pass', async (_when, upstream, heldAfterwards) => {
      await ended({ a: ['a'] });

      await expect(clear(at.another({}, upstream))).rejects.toThrow('killed');
      await waitFor('the deletion to start', async () => {
        return (await at.readEntries(`state = 'pending'`)).length === 1;
      });
      await waitFor('the upstream to process the calls', () => upstreamNames(at).length === heldAfterwards.length);
      expect(await clear()).toEqual({ deleted: 0, end: 'done' });
      await untilCleared();

      expect([upstreamNames(at), await mirroredNames(at)]).toEqual([[], []]);
      expect(await at.readEntries(`state = 'pending'`)).toEqual([]);
    });
  });

  it('the upstream’s budget ends a pass when it is used up, and blocks the next one until it recovers', async () => {
    const tight = await startReconciling({ requestsPerHour: 60 }, { demoZoneName: DEMO_ZONE }, { waitMsMax: 100 });
    await mirrorDemoZone(tight);
    const team = await tight.addTeam('tight');
    const labels = Array.from({ length: 100 }, (_, index) => `d${index}`);
    await addDemos(tight, team, labels);
    await putSets(tight, labels);
    await tight.workers.expireDemos(running());

    const first = await tight.workers.clearDemos(running());
    const sent = countDeletions(tight);
    const second = await tight.workers.clearDemos(running());

    expect([first.end, second]).toEqual(['throttled', { deleted: 0, end: 'throttled' }]);
    expect(first.deleted).toBeGreaterThan(0);
    expect(sent).toBeLessThanOrEqual(60);
    expect(countDeletions(tight)).toBe(sent);
    const unsent = await tight.readEntries(`state = 'unsent'`);
    expect(unsent.length).toBeLessThanOrEqual(8);
    expect(await demoEnds(tight.prisma).listRemaining(1_000)).toHaveLength(100 - first.deleted);
    await tight.stop();
  });

  /** Runs passes until nothing is left, with time passing between them. */
  async function untilCleared(): Promise<void> {
    for (let turn = 0; turn < 40; turn += 1) {
      await passTime(at, 700);
      await at.workers.settleWrites(running());
      await clear();
      if ((await mirroredNames(at)).length === 0) return;
    }
  }

  async function tokenOf(demoId: string): Promise<string> {
    const { rows } = await at.pool.query<{ id: string }>('SELECT id FROM dns_token WHERE demo_id = $1', [demoId]);
    return rows[0]?.id as string;
  }
});

describe('the demo zone', () => {
  let globex: TestTeam;
  beforeAll(async () => {
    globex = await at.addTeam('globex');
    await at.workers.handlers['zone-sync']({ reason: 'start' }, { signal: running() } as never);
  });
  beforeEach(async () => {
    await clearDemoRows(at);
    await syncDemos();
  });

  const syncDemos = () => at.workers.demoZoneSync?.({ reason: 'schedule' }, running());
  const put = (name: string) => at.cloud.admin.putRrset(DEMO_ZONE, name, 'A', { records: records('192.0.2.1') });
  const runs = async () =>
    (await at.pool.query<{ zone: string }>('SELECT zone_name AS zone FROM dns_sync_run ORDER BY 1')).rows.map(
      ({ zone }) => zone,
    );

  it('is synced with the teams’ zone, at the start and on schedule', async () => {
    await at.pool.query('DELETE FROM dns_sync_run');
    for (const reason of ['start', 'schedule'] as const) {
      await at.workers.handlers['zone-sync']({ reason }, { signal: running() } as never);
    }

    expect(await runs()).toEqual([DEMO_ZONE, DEMO_ZONE, ZONE, ZONE]);
    const { rows } = await at.pool.query('SELECT name, of_demos FROM dns_zone ORDER BY name');
    expect(rows).toEqual([
      { name: DEMO_ZONE, of_demos: true },
      { name: ZONE, of_demos: false },
    ]);
  });

  it('does not block the sync of the teams’ zone when it is missing upstream', async () => {
    const misled = at.another({ demoZoneName: 'no-such.example.test' });
    await at.pool.query('DELETE FROM dns_sync_run');

    await misled.handlers['zone-sync']({ reason: 'schedule' }, { signal: running() } as never);

    const { rows } = await at.pool.query('SELECT zone_name, state::text, failure FROM dns_sync_run ORDER BY 1');
    expect(rows).toEqual([
      { zone_name: ZONE, state: 'succeeded', failure: null },
      { zone_name: 'no-such.example.test', state: 'failed', failure: expect.stringContaining('DEMO_ZONE_NAME') },
    ]);
  });

  it('assigns drift to the demo’s team, and not to a team with the same label', async () => {
    await addDemos(at, acme, ['globex'], 60);
    put('www.globex');
    put('nobody');

    await syncDemos();

    const { id } = await demoOf(at, 'globex');
    const entries = await at.readEntries(`operation = 'drift'`);
    expect(entries).toEqual([
      expect.objectContaining({ name: 'nobody', team_id: null, demo_id: null }),
      expect.objectContaining({ name: 'www.globex', team_id: acme.id, demo_id: id }),
    ]);
    expect(entries.map(({ team_id }) => team_id)).not.toContain(globex.id);
    expect(await mirroredNames(at)).toEqual(['nobody', 'www.globex']);
  });
});

describe('the expiry of demos', () => {
  beforeEach(() => clearDemoRows(at));

  const expire = () => at.workers.expireDemos(running());
  const expiredEver = async () => (await at.metric('corral_dns_demos_expired_total')) ?? 0;
  const HOUR_SECONDS = 3_600;

  it('expired demos end with the time of their expiry, even if noticed later, and no others end', async () => {
    await addDemos(at, acme, ['over', 'long-over'], -1);
    await addDemos(at, acme, ['live'], 60);
    await at.pool.query(`UPDATE demo SET expires_at = expires_at - interval '30 minutes' WHERE label = 'long-over'`);

    const before = await expiredEver();

    const result = await expire();

    expect(result).toEqual({ ended: 2, released: 0 });
    for (const label of ['over', 'long-over']) {
      const demo = await demoOf(at, label);
      expect([demo.ended_at, demo.revoked_at]).toEqual([demo.expires_at, demo.expires_at]);
    }
    expect(await demoOf(at, 'live')).toMatchObject({ ended_at: null, clear_at: null, revoked_at: null });
    expect(await at.readEntries()).toEqual(
      ['long-over', 'over'].map((name) =>
        expect.objectContaining({
          actor: 'service',
          name,
          type: 'DEMO',
          operation: 'expire',
          state: 'completed',
          team_id: acme.id,
        }),
      ),
    );
    expect((await expiredEver()) - before).toBe(2);
  });

  describe('a label', () => {
    it('is released no earlier than an hour after the end', async () => {
      await addDemos(at, acme, ['once']);
      await expire();
      await passTime(at, HOUR_SECONDS - 30);
      expect((await expire()).released).toBe(0);

      await passTime(at, 30);

      expect((await expire()).released).toBe(1);
      expect((await demoOf(at, 'once')).released_at).not.toBeNull();
    });

    it('is kept while a record exists or a pending write may create one', async () => {
      await addDemos(at, acme, ['left', 'pending']);
      await putSets(at, ['www.left']);
      await expire();
      await at.pool.query(
        `INSERT INTO dns_audit_entry (team_id, demo_id, actor, token_id, zone_id, name, type, operation, state, lease_until)
       SELECT demo.team_id, demo.id, 'token', token.id, zone_id, 'www.pending', 'A', 'create', 'pending', now()
       FROM demo JOIN dns_token AS token ON token.demo_id = demo.id WHERE label = 'pending'`,
      );
      await passTime(at, 2 * HOUR_SECONDS);

      expect((await expire()).released).toBe(0);

      await at.workers.clearDemos(running());
      await at.workers.settleWrites(running());
      expect((await expire()).released).toBe(2);
    });
  });
});
