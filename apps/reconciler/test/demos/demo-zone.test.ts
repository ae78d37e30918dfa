import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addDemos, clearDemoRows, demoOf, mirroredNames } from '../support/dns/demo-rows.js';
import { records, type TestTeam } from '../support/dns/dns-rows.js';
import { DEMO_ZONE, type Reconciling, running, startReconciling, ZONE } from '../support/dns/start-reconciling.js';

let at: Reconciling;
let acme: TestTeam;
let globex: TestTeam;
beforeAll(async () => {
  at = await startReconciling({}, { demoZoneName: DEMO_ZONE, graceMs: 0 });
  acme = await at.addTeam('acme');
  globex = await at.addTeam('globex');
  await at.workers.handlers['zone-sync']({ reason: 'start' }, { signal: running() } as never);
});
afterAll(() => at.stop());
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

describe('the demo zone', () => {
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

  it('is not synced by a requested run of the teams’ zone', async () => {
    await at.pool.query('DELETE FROM dns_sync_run');

    const runId = '00000000-0000-4000-8000-000000000001';
    await at.workers.handlers['zone-sync']({ reason: 'request', runId }, { signal: running() } as never);

    expect(await runs()).toEqual([ZONE]);
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

describe('a recheck of a demo’s set', () => {
  it('updates the mirror to the upstream state', async () => {
    await addDemos(at, acme, ['shop'], 60);
    put('shop');
    await syncDemos();
    await at.pool.query(
      `UPDATE dns_audit_entry SET recheck_at = now() - interval '1 second' WHERE operation = 'drift' AND name = 'shop'`,
    );
    at.cloud.admin.deleteRrset(DEMO_ZONE, 'shop', 'A');

    await at.workers.settleWrites(running());

    expect(await mirroredNames(at)).toEqual([]);
  });
});
