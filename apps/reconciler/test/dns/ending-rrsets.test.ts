import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { records, type TestTeam } from '../support/dns/dns-rows.js';
import { type Reconciling, running, startReconciling, ZONE } from '../support/dns/start-reconciling.js';

let at: Reconciling;
let acme: TestTeam;
beforeAll(async () => {
  at = await startReconciling({}, { graceMs: 0 });
  await at.mirrorZone();
  acme = await at.addTeam('acme');
});
afterAll(() => at.stop());
beforeEach(async () => {
  at.clearUpstream();
  await at.pool.query('DELETE FROM dns_action');
  await at.pool.query('DELETE FROM dns_audit_entry');
  await at.pool.query('DELETE FROM dns_rrset');
});

/** A set upstream and in the mirror, last changed so many hours ago. */
async function put(name: string, labels: Record<string, string>, changedHoursAgo = 0): Promise<void> {
  const set = { labels, records: records('192.0.2.1') };
  at.cloud.admin.putRrset(ZONE, name, 'A', set);
  const body = { id: `${name}/A`, name, type: 'A', ttl: null, protection: { change: false }, zone: at.zoneId, ...set };
  await at.pool.query(
    `INSERT INTO dns_rrset (zone_id, name, type, owner_label, record_count, body, updated_at)
     SELECT $1, $2, 'A', reverse(split_part(reverse($2), '.', 1)), 1, $3, clock_timestamp() - make_interval(hours => $4)`,
    [at.zoneId, name, JSON.stringify(body), changedHoursAgo],
  );
}
const upstreamNames = () =>
  (at.cloud.admin.zones().find(({ name }) => name === ZONE)?.rrsets ?? [])
    .map(({ name }) => name)
    .filter((name) => name !== '@')
    .sort();
const end = () => at.workers.endRrsets(running());

describe('record sets with the label corral/expires', () => {
  it('are deleted once they are over, with an entry in the audit log, and no others are', async () => {
    await put('old.acme', { 'corral/expires': '2d' }, 49);
    await put('dated.acme', { 'corral/expires': '2026-01-31' });
    await put('young.acme', { 'corral/expires': '2d' }, 1);
    await put('unreadable.acme', { 'corral/expires': 'soon' }, 9_000);
    await put('plain.acme', { note: 'corral/expires' }, 9_000);
    await put('foreign.nobody', { 'corral/expires': '2d' }, 49);

    expect(await end()).toEqual({ deleted: 2, reminded: 0 });

    expect(upstreamNames()).toEqual(['foreign.nobody', 'plain.acme', 'unreadable.acme', 'young.acme']);
    const entries = await at.readEntries();
    expect(
      entries.map(({ name, operation, state, actor, team_id }) => [name, operation, state, actor, team_id]),
    ).toEqual([
      ['dated.acme', 'delete', 'completed', 'service', acme.id],
      ['old.acme', 'delete', 'completed', 'service', acme.id],
    ]);
    expect(await at.mirroredValues('old.acme')).toBeNull();
  });

  it('are announced in the audit log once before their end, and once more after they were changed', async () => {
    await put('soon.acme', { 'corral/expires': '2d' }, 30);

    expect([await end(), await end()]).toEqual([
      { deleted: 0, reminded: 1 },
      { deleted: 0, reminded: 0 },
    ]);
    expect(await at.readEntries()).toMatchObject([{ name: 'soon.acme', operation: 'remind', team_id: acme.id }]);

    await at.pool.query(`UPDATE dns_audit_entry SET created_at = created_at - interval '31 hours'`);
    expect((await end()).reminded).toBe(1);
  });

  it('are tried again after a failure, and are left alone while a write to them is under way', async () => {
    await put('stuck.acme', { 'corral/expires': '1h' }, 2);
    await put('busy.acme', { 'corral/expires': '1h' }, 2);
    await at.addLostWrite(acme, { name: 'busy.acme', operation: 'update', body: { labels: {} } });
    at.cloud.admin.addFaults({ match: { method: 'DELETE' }, effect: { status: 423, code: 'protected' } });

    expect((await end()).deleted).toBe(0);
    expect(upstreamNames()).toEqual(['busy.acme', 'stuck.acme']);
    expect((await end()).deleted).toBe(1);
    expect(upstreamNames()).toEqual(['busy.acme']);
  });

  it('stay during a hold', async () => {
    await put('old.acme', { 'corral/expires': '1h' }, 2);
    await at.pool.query(`INSERT INTO installation_hold (reason) VALUES ('test')`);
    try {
      await at.workers.handlers['end-rrsets']({}, { signal: running() } as never);
      expect(upstreamNames()).toEqual(['old.acme']);
    } finally {
      await at.pool.query('DELETE FROM installation_hold');
    }
  });
});
