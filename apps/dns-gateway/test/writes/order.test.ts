import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

let gateway: TestGateway;
let replica: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  replica = await startGateway({ beside: gateway });
});
afterAll(async () => {
  await replica.close();
  await gateway.close();
});
beforeEach(() => gateway.cloud.admin.resetCalls());
afterEach(() => gateway.cloud.admin.clearFaults());

const add = (name: string, value: string, through = gateway): Promise<Answer> =>
  through.call('POST', `/zones/${ZONE}/rrsets/${name}/A/actions/add_records`, { body: { records: [{ value }] } });

const upstreamSees = (calls: number) => waitFor(`${calls} calls upstream`, () => gateway.upstreamCalls() >= calls);

const valuesWritten = (name: string): string[] =>
  gateway.cloud.admin
    .writes()
    .filter((write) => write.name === name)
    .flatMap(({ body }) => (body as { records: { value: string }[] }).records.map(({ value }) => value));

describe('writes to one record set', () => {
  it.each([
    ['one gateway', () => gateway],
    ['two gateways on one database', () => replica],
  ])('go upstream one after the other, in the order of arrival, through %s', async (what, second) => {
    const name = `${what.slice(0, 3)}.order.acme`;
    gateway.cloud.admin.addFaults({ match: { path: name }, effect: { delayMs: 250 } }); // the first one only
    const slow = add(name, '192.0.2.1');
    await upstreamSees(1);

    const fast = add(name, '192.0.2.2', second());
    const atSlowsEnd = slow.then((answer) => ({ answer, calls: gateway.upstreamCalls() }));

    expect((await atSlowsEnd).answer.status).toBe(201);
    expect((await atSlowsEnd).calls).toBe(1);
    expect((await fast).status).toBe(201);
    expect(valuesWritten(name)).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it('all count: twenty at once end with twenty records', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => add('many.acme', `192.0.2.${at}`)));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets/many.acme/A`);
    expect(json.rrset.records).toHaveLength(20);
    expect(new Set(valuesWritten('many.acme')).size).toBe(20);
  });

  it('are told 409 conflict, and never sent later, when their turn does not come in time', async () => {
    const impatient = await startGateway({ beside: gateway, config: { turnMsMax: 120 } });
    gateway.cloud.admin.addFaults({ match: { path: 'late.acme' }, effect: { delayMs: 500 } });
    const slow = add('late.acme', '192.0.2.1', impatient);
    await upstreamSees(1);

    const late = await add('late.acme', '192.0.2.2', impatient);

    expect([late.status, late.json.error.code]).toEqual([409, 'conflict']);
    expect((await slow).status).toBe(201);
    expect(valuesWritten('late.acme')).toEqual(['192.0.2.1']);
    await impatient.close();
  });
});

describe('writes to different record sets of one team', () => {
  it('do not wait for each other', async () => {
    gateway.cloud.admin.addFaults({ match: { path: 'slow.acme' }, effect: { delayMs: 1_000 } });
    let slowEnded = false;
    const slow = add('slow.acme', '192.0.2.1').finally(() => {
      slowEnded = true;
    });
    await upstreamSees(1);

    expect((await add('fast.acme', '192.0.2.1')).status).toBe(201);
    expect((await gateway.call('GET', `/zones/${ZONE}/rrsets/fast.acme/A`)).status).toBe(200);

    expect(slowEnded).toBe(false);
    expect((await slow).status).toBe(201);
  });
});

describe('upstream calls', () => {
  it('are one for each write and none for each read', async () => {
    const rrset = `/zones/${ZONE}/rrsets/counted.acme/A`;
    const records = [{ value: '192.0.2.1' }, { value: '192.0.2.2' }];
    const writes: [string, string, object?][] = [
      ['POST', `/zones/${ZONE}/rrsets`, { name: 'counted.acme', type: 'A', records }],
      ['POST', `${rrset}/actions/set_records`, { records: [{ value: '192.0.2.3' }] }],
      ['POST', `${rrset}/actions/add_records`, { records }],
      ['POST', `${rrset}/actions/remove_records`, { records }],
      ['POST', `${rrset}/actions/change_ttl`, { ttl: 600 }],
      ['PUT', rrset, { labels: { env: 'prod' } }],
      ['DELETE', rrset],
    ];
    const reads = ['/zones', `/zones/${ZONE}`, `/zones/${ZONE}/rrsets`, `/zones/${ZONE}/rrsets?type=A&name=x`, rrset];

    for (const [at, [method, path, body]] of writes.entries()) {
      const { status } = await gateway.call(method, path, body === undefined ? {} : { body });
      expect(status).toBe(method === 'PUT' ? 200 : 201);
      expect(gateway.upstreamCalls()).toBe(at + 1);
      for (const read of reads) await gateway.call('GET', read);
      expect(gateway.upstreamCalls()).toBe(at + 1);
    }
  });

  it('are none for an update that changes nothing', async () => {
    await add('same.acme', '192.0.2.1');
    const before = gateway.upstreamCalls();

    for (const body of [{}, { labels: {} }, { labels: null }]) {
      const { status } = await gateway.call('PUT', `/zones/${ZONE}/rrsets/same.acme/A`, { body });
      expect(status).toBe(200);
    }

    expect(gateway.upstreamCalls()).toBe(before);
  });
});
