import { demoEnds } from '@corral/dns-data';
import type { HcloudClient } from '@corral/hcloud';
import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addDemos,
  clearDemoRows,
  deletionsSent,
  demoOf,
  holdSets,
  mirrorDemoZone,
  mirroredNames,
  passTime,
  upstreamNames,
} from '../support/dns/demo-rows.js';
import { ledgerOf, records, type TestTeam } from '../support/dns/dns-rows.js';
import { DEMO_ZONE, type Reconciling, running, startReconciling } from '../support/dns/start-reconciling.js';

let at: Reconciling;
let acme: TestTeam;
beforeAll(async () => {
  at = await startReconciling({}, { demoZoneName: DEMO_ZONE, graceMs: 0 });
  await mirrorDemoZone(at);
  acme = await at.addTeam('acme');
});
afterAll(() => at.stop());
beforeEach(() => clearDemoRows(at));

const clear = (workers = at.another()) => workers.clearDemos(running());
/** Ended demos with record sets at their names. */
async function ended(sets: Readonly<Record<string, readonly string[]>>): Promise<void> {
  await addDemos(at, acme, Object.keys(sets));
  await holdSets(at, Object.values(sets).flat());
  await at.workers.expireDemos(running());
}

describe('record sets of ended demos', () => {
  it('are deleted upstream with audit entries, and nothing else is', async () => {
    await addDemos(at, acme, ['live'], 60);
    await holdSets(at, ['live', 'www.live', 'by-hand', 'www.by-hand']);
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

  it('are deleted with one call each over several lists', async () => {
    const labels = Array.from({ length: 450 }, (_, index) => `d${index}`);
    await ended(Object.fromEntries(labels.map((label) => [label, [label]])));
    const workers = at.another();

    let deleted = 0;
    for (let pass = 0; pass < 20 && deleted < labels.length; pass += 1) {
      const result = await clear(workers);
      expect(['done', 'more']).toContain(result.end);
      deleted += result.deleted;
    }

    expect([deleted, deletionsSent(at), upstreamNames(at)]).toEqual([450, 450, []]);
  });

  it('are deleted with one call each by concurrent passes', async () => {
    const labels = Array.from({ length: 40 }, (_, index) => `d${index}`);
    await ended(Object.fromEntries(labels.map((label) => [label, [label, `www.${label}`]])));

    const results = await Promise.all([clear(), clear(), clear()]);

    expect(results.reduce((sum, { deleted }) => sum + deleted, 0)).toBeGreaterThanOrEqual(80);
    expect([deletionsSent(at), upstreamNames(at)]).toEqual([80, []]);
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

describe('a failed deletion', () => {
  it('is retried with growing delays, and does not delay other demos', async () => {
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
      const inSeconds = ((clear_at as Date).getTime() - begunAt) / 1_000;
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

  it.each([
    ['is unreachable', { reset: 'before' as const }],
    ['answers 503 to every request', { status: 503 }],
    ['refuses our own token', { status: 401, code: 'unauthorized' }],
  ])('ends the pass after a few calls when the upstream %s, and succeeds later', async (_what, effect) => {
    const labels = Array.from({ length: 100 }, (_, index) => `d${index}`);
    await ended(Object.fromEntries(labels.map((label) => [label, [label]])));
    at.cloud.admin.addFaults({ match: { method: 'DELETE' }, times: null, effect });

    const result = await clear();

    expect(result).toEqual({ deleted: 0, end: 'away' });
    expect(deletionsSent(at)).toBeLessThan(60);
    at.cloud.admin.clearFaults();
    await untilCleared();
    expect(upstreamNames(at)).toEqual([]);
  });
});

describe('a crash', () => {
  const dieBefore: Pick<HcloudClient, 'write'> = {
    write: async () => {
      throw new Error('killed');
    },
  };
  const dieAfter: Pick<HcloudClient, 'write'> = {
    write: async (write, options) => {
      await at.hcloud.write(write, options);
      throw new Error('killed');
    },
  };

  it.each([
    ['after the entry and before the call', dieBefore, ['a', 'b.a'].sort()],
    ['after the call and before its outcome was recorded', dieAfter, []],
  ])('%s is repaired by the next pass', async (_when, upstream, heldAfterwards) => {
    await ended({ a: ['a', 'b.a'] });

    await expect(clear(at.another({}, upstream))).rejects.toThrow('killed');
    await waitFor('both deletions to start', async () => {
      return (await at.readEntries(`state = 'pending'`)).length === 2;
    });
    await waitFor('the upstream to process the calls', () => upstreamNames(at).length === heldAfterwards.length);
    expect(await clear()).toEqual({ deleted: 0, end: 'done' });
    await untilCleared();

    expect([upstreamNames(at), await mirroredNames(at)]).toEqual([[], []]);
    expect(await at.readEntries(`state = 'pending'`)).toEqual([]);
  });

  it('between the end and the first deletion loses nothing', async () => {
    await ended({ a: ['a'] });

    expect((await clear(at.another())).deleted).toBe(1);
  });
});

describe('a shutdown', () => {
  it('sends nothing more, and leaves the rest to the next process', async () => {
    await ended({ a: ['a'], b: ['b'] });
    const stopped = new AbortController();
    stopped.abort();

    expect(await at.workers.clearDemos(stopped.signal)).toEqual({ deleted: 0, end: 'stopped' });
    expect(deletionsSent(at)).toBe(0);
  });
});

describe('the upstream’s budget', () => {
  it('ends a pass when it is used up, and blocks the next one until it recovers', async () => {
    const tight = await startReconciling({ requestsPerHour: 60 }, { demoZoneName: DEMO_ZONE }, { waitMsMax: 100 });
    await mirrorDemoZone(tight);
    const team = await tight.addTeam('tight');
    const labels = Array.from({ length: 200 }, (_, index) => `d${index}`);
    await addDemos(tight, team, labels);
    await holdSets(tight, labels);
    await tight.workers.expireDemos(running());

    const first = await tight.workers.clearDemos(running());
    const sent = deletionsSent(tight);
    const second = await tight.workers.clearDemos(running());

    expect([first.end, second]).toEqual(['throttled', { deleted: 0, end: 'throttled' }]);
    expect(first.deleted).toBeGreaterThan(0);
    expect(sent).toBeLessThanOrEqual(60);
    expect(deletionsSent(tight)).toBe(sent);
    const unsent = await tight.readEntries(`state = 'unsent'`);
    expect(unsent.length).toBeLessThanOrEqual(8);
    expect(await demoEnds(tight.prisma).listRemaining(1_000)).toHaveLength(200 - first.deleted);
    await tight.stop();
  });
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
