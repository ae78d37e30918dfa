import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const rrsets = '/zones/example.net/rrsets';

describe('admin API', () => {
  it('counts calls by route, including refused ones', async () => {
    await cloud.call('GET', rrsets);
    await cloud.call('GET', '/zones/7001/rrsets?page=2');
    await cloud.call('GET', '/zones', undefined, {});
    await cloud.call('GET', '/nowhere');

    const counted = await cloud.callAdmin('GET', '/calls');
    const byRoute = { 'GET /v1/zones': 1, 'GET /v1/zones/:zone/rrsets': 2, 'GET unknown': 1 };
    expect(counted.body).toEqual({ total: 4, byRoute });
    cloud.admin.resetCalls();
    expect((await cloud.callAdmin('GET', '/calls')).body).toEqual({ total: 0, byRoute: {} });
  });

  it('lists accepted writes in their order', async () => {
    const body = { name: 'app', type: 'A', records: records('192.0.2.1'), extra: true };
    await cloud.call('POST', rrsets, body);
    await cloud.call('POST', rrsets, body);
    await cloud.call('PUT', `${rrsets}/app/A`, {});
    await cloud.call('DELETE', '/zones/7001/rrsets/app/A');

    const { body: listed } = await cloud.callAdmin('GET', '/writes');

    const common = { zone: 'example.net', name: 'app', type: 'A', actionError: null, at: expect.any(String) };
    expect(listed.writes).toEqual([
      { ...common, seq: 1, method: 'POST', path: `/v1${rrsets}`, body, actionId: 880001 },
      { ...common, seq: 2, method: 'PUT', path: `/v1${rrsets}/app/A`, body: {}, actionId: null },
      { ...common, seq: 3, method: 'DELETE', path: '/v1/zones/7001/rrsets/app/A', body: null, actionId: 880002 },
    ]);
  });

  it('changes the zone behind the API, and returns its content', async () => {
    const put = await cloud.callAdmin('PUT', '/rrsets/demo.test/app/A', { ttl: 60, records: records('192.0.2.1') });
    const seen = await cloud.call('GET', '/zones/demo.test/rrsets/app/A');
    const { body: held } = await cloud.callAdmin('GET', '/zones');
    const removed = await cloud.callAdmin('DELETE', '/rrsets/demo.test/app/A');

    expect([put.status, seen.body.rrset.ttl, removed.status]).toEqual([200, 60, 204]);
    expect(held.zones[1]).toMatchObject({
      name: 'demo.test',
      recordCount: 5,
      rrsets: [{}, {}, { name: 'app', ttl: 60 }],
    });
    expect((await cloud.call('GET', '/zones/demo.test/rrsets/app/A')).status).toBe(404);
    expect(cloud.admin.writes()).toEqual([]);
  });

  it('adds unknown fields to every object of a kind', async () => {
    const extra = { zone: { z: 1 }, rrset: { r: null }, record: { c: [2] }, action: { a: 'x' } };
    cloud.admin.setExtraFields(extra);

    const { body } = await cloud.call('POST', rrsets, { name: 'app', type: 'A', records: records('192.0.2.1') });
    const zone = await cloud.call('GET', '/zones/7001');
    cloud.admin.setExtraFields({});
    const plain = await cloud.call('GET', `${rrsets}/app/A`);

    expect([body.rrset, body.action, zone.body.zone]).toMatchObject([
      { r: null, records: [{ c: [2] }] },
      { a: 'x' },
      { z: 1 },
    ]);
    expect(plain.body.rrset).not.toHaveProperty('r');
  });

  it('sets the clock and the budget', async () => {
    const clock = await cloud.callAdmin('POST', '/clock', { advanceMs: 86_400_000 });
    cloud.admin.setBudget({ requestsPerHour: 100, remaining: 7 });
    const budget = await cloud.callAdmin('GET', '/budget');

    expect(Date.parse(clock.body.now) - Date.now()).toBeGreaterThan(86_000_000);
    expect(budget.body).toMatchObject({ limit: 100, remaining: 7 });
  });

  it.each([
    ['POST', '/clock', {}, 400],
    ['POST', '/faults', { effect: { what: 1 } }, 400],
    ['PUT', '/rrsets/gone.test/a/A', { records: [] }, 400],
    ['PUT', '/rrsets/demo.test/a/A', {}, 400],
    ['GET', '/nothing', undefined, 404],
  ])('names the error in %s %s %j', async (method, path, body, status) => {
    const answer = await cloud.callAdmin(method, path, body);

    expect([answer.status, answer.body]).toEqual([status, { error: expect.any(String) }]);
  });
});
