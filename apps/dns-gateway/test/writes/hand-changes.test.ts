import { silentLog } from '@corral/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

let gateway: TestGateway;
const lines: { message: string; name?: unknown; kind?: unknown }[] = [];
beforeAll(async () => {
  const log = { ...silentLog, warn: (message: string, fields?: object) => void lines.push({ message, ...fields }) };
  gateway = await startGateway({ actionMs: 0, log });
});
afterAll(() => gateway.close());

let name: string;
let sets = 0;
const path = () => `/zones/${ZONE}/rrsets/${name}/A`;
const create = (...values: string[]) =>
  gateway.call('POST', `/zones/${ZONE}/rrsets`, {
    body: { name, type: 'A', records: values.map((value) => ({ value })) },
  });
const putByHand = (value: string, ttl: number | null = null) =>
  gateway.cloud.admin.putRrset(ZONE, name, 'A', { ttl, records: [{ value }] });
const seen = async (): Promise<string[] | null> => {
  const { status, json } = await gateway.call('GET', path());
  return status === 404 ? null : json.rrset.records.map(({ value }: { value: string }) => value);
};
const drift = async () =>
  (
    await gateway.pool.query(
      `SELECT team_id, found_body IS NOT NULL AS present FROM dns_audit_entry
       WHERE name = $1 AND actor = 'upstream' AND operation = 'drift' AND state = 'observed' ORDER BY id`,
      [name],
    )
  ).rows;
const isRecheckDue = async () =>
  (await gateway.pool.query('SELECT 1 FROM dns_audit_entry WHERE name = $1 AND recheck_at IS NOT NULL', [name]))
    .rowCount !== 0;
const reported = (kind: string) => lines.filter((line) => line.name === name && line.kind === kind);

beforeEach(() => {
  sets += 1;
  name = `hand${sets}.acme`;
  gateway.cloud.admin.clearFaults();
});

describe('a set that was changed by hand upstream', () => {
  it('is seen immediately when a create is refused because the set exists', async () => {
    putByHand('192.0.2.9');

    expect((await create('192.0.2.1')).status).toBe(409);

    expect(await seen()).toEqual(['192.0.2.9']);
    expect(await drift()).toEqual([{ team_id: gateway.acme.id, present: true }]);
    expect(reported('added')).toEqual([expect.objectContaining({ type: 'A', team: 'acme', message: 'drift' })]);
    expect(await isRecheckDue()).toBe(false);
  });

  it('is seen to be deleted immediately when a deletion finds nothing', async () => {
    putByHand('192.0.2.9');
    await gateway.syncZone();
    gateway.cloud.admin.deleteRrset(ZONE, name, 'A');

    expect((await gateway.call('DELETE', path())).status).toBe(404);

    expect(await seen()).toBeNull();
    expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: false });
    expect(reported('removed')).toHaveLength(1);
  });

  it('is logged as removed when a create makes it again', async () => {
    putByHand('192.0.2.9');
    await gateway.syncZone();
    gateway.cloud.admin.deleteRrset(ZONE, name, 'A');

    expect((await create('192.0.2.1')).status).toBe(201);

    expect(await seen()).toEqual(['192.0.2.1']);
    expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: false });
    expect(reported('removed')).toHaveLength(1);
  });

  it('is seen immediately when an update of labels states other records', async () => {
    putByHand('192.0.2.9');
    await gateway.syncZone();
    putByHand('192.0.2.10');

    expect((await gateway.call('PUT', path(), { body: { labels: { team: 'x' } } })).status).toBe(200);

    expect(await seen()).toEqual(['192.0.2.10']);
    expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: true });
    expect(reported('changed')).toHaveLength(1);
  });

  it.each([
    ['a value is removed that is gone', 'remove_records', { records: [{ value: '192.0.2.9' }] }],
    ['a value is added that is there', 'add_records', { records: [{ value: '192.0.2.10' }] }],
    ['records are added under its old TTL', 'add_records', { records: [{ value: '192.0.2.11' }], ttl: 300 }],
  ])('is seen immediately when %s', async (_when, action, body) => {
    putByHand('192.0.2.9', 300);
    await gateway.syncZone();
    putByHand('192.0.2.10', 600);

    expect((await gateway.call('POST', `${path()}/actions/${action}`, { body })).status).toBe(422);

    const { rrset } = (await gateway.call('GET', path())).json;
    expect([rrset.ttl, rrset.records[0].value]).toEqual([600, '192.0.2.10']);
    expect((await drift()).at(-1)).toEqual({ team_id: gateway.acme.id, present: true });
    expect(await isRecheckDue()).toBe(false);
  });

  it.each([
    ['protected', 423],
    ['invalid_input', 422],
  ])('is seen immediately when a change of its TTL is refused with %s', async (code, status) => {
    putByHand('192.0.2.9');
    await gateway.syncZone();
    putByHand('192.0.2.10');
    gateway.cloud.admin.addFaults({ match: { method: 'POST' }, effect: { status, code } });

    const change = await gateway.call('POST', `${path()}/actions/change_ttl`, { body: { ttl: 600 } });

    expect([change.status, change.json.error.code]).toEqual([status, code]);
    expect(await seen()).toEqual(['192.0.2.10']);
  });

  it('is due to be read when records are added under a TTL that the mirror does not have', async () => {
    putByHand('192.0.2.9', 300);
    await gateway.syncZone();
    putByHand('192.0.2.9', 600);

    const body = { records: [{ value: '192.0.2.11' }], ttl: 600 };
    expect((await gateway.call('POST', `${path()}/actions/add_records`, { body })).status).toBe(201);

    expect(await isRecheckDue()).toBe(true);
  });

  it('is left to the reconciler when it cannot be read', async () => {
    putByHand('192.0.2.9');
    gateway.cloud.admin.addFaults({ match: { method: 'GET', path: '/rrsets/' }, times: null, effect: { status: 503 } });

    expect((await create('192.0.2.1')).status).toBe(409);

    expect(await isRecheckDue()).toBe(true);
    expect(await drift()).toEqual([]);
  });

  it('is not read again when the refusal fits the mirror', async () => {
    putByHand('192.0.2.9');
    await gateway.syncZone();
    const before = gateway.upstreamCalls();

    expect((await create('192.0.2.1')).status).toBe(409);

    expect(gateway.upstreamCalls()).toBe(before + 1);
  });
});
