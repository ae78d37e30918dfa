import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addDemos, clearDemoRows, demoOf, holdSets, mirrorDemoZone, passTime } from '../support/dns/demo-rows.js';
import type { TestTeam } from '../support/dns/dns-rows.js';
import { DEMO_ZONE, type Reconciling, running, startReconciling } from '../support/dns/start-reconciling.js';

let at: Reconciling;
let acme: TestTeam;
beforeAll(async () => {
  at = await startReconciling({}, { demoZoneName: DEMO_ZONE });
  await mirrorDemoZone(at);
  acme = await at.addTeam('acme');
});
afterAll(() => at.stop());
beforeEach(() => clearDemoRows(at));

const expire = () => at.workers.expireDemos(running());
const expiredEver = async () => (await at.metric('corral_dns_demos_expired_total')) ?? 0;
const HOUR_SECONDS = 3_600;

describe('expired demos', () => {
  it('end with the time of their expiry, even if noticed later, and no others end', async () => {
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

  it('end once with concurrent reconcilers', async () => {
    const labels = Array.from({ length: 60 }, (_, index) => `d${index}`);
    await addDemos(at, acme, labels);

    const results = await Promise.all([expire(), at.another().expireDemos(running()), expire()]);
    // A row that one of them had locked was skipped by the others.
    const rest = await expire();

    expect([...results, rest].reduce((sum, { ended }) => sum + ended, 0)).toBe(60);
    expect(await at.readEntries()).toHaveLength(60);
  });

  it('count in the backlog metric until their records are deleted', async () => {
    await addDemos(at, acme, ['waiting'], -120);
    await holdSets(at, ['waiting']);
    expect(await at.metric('corral_dns_demo_backlog_seconds')).toBeGreaterThan(119);

    await expire();
    expect(await at.metric('corral_dns_demo_backlog_seconds')).toBeGreaterThan(119);
    await at.workers.clearDemos(running());

    expect(await at.metric('corral_dns_demo_backlog_seconds')).toBe(0);
  });

  it('trigger the deletion of their records immediately', async () => {
    at.nudges.length = 0;
    const handle = () => at.workers.handlers['expire-demos']({}, { signal: running() } as never);
    await handle();
    expect(at.nudges).toEqual([]);
    await addDemos(at, acme, ['over']);

    await handle();

    expect(at.nudges).toEqual([{ name: 'clear-demos', payload: {}, options: { jobId: 'clear' } }]);
  });
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
    await holdSets(at, ['www.left']);
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

  it('is not affected while its demo is live', async () => {
    await addDemos(at, acme, ['live'], 60);

    expect(await expire()).toEqual({ ended: 0, released: 0 });
  });
});
