import { waitFor } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type HoldingUpstream, startHoldingUpstream } from '../support/holding-upstream.js';
import { type Answer, startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

/** Longer than any test lasts, so that no write gives up before its turn. */
const PATIENCE_MS = 600_000;

let gateway: TestGateway;
let upstream: HoldingUpstream;
/** Two gateways whose calls can be held. */
let one: TestGateway;
let other: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  upstream = await startHoldingUpstream(gateway.cloud.apiUrl);
  one = await startGateway({ beside: gateway, upstreamUrl: upstream.url, config: { writeWaitMs: PATIENCE_MS } });
  other = await startGateway({ beside: gateway, upstreamUrl: upstream.url, config: { writeWaitMs: PATIENCE_MS } });
});
afterAll(async () => {
  await one.close();
  await other.close();
  await upstream.close();
  await gateway.close();
});
beforeEach(() => gateway.cloud.admin.resetCalls());

const add = (name: string, value: string, through = gateway): Promise<Answer> =>
  through.call('POST', `/zones/${ZONE}/rrsets/${name}/A/actions/add_records`, { body: { records: [{ value }] } });

const untilSent = (name: string) => waitFor(`a write to ${name} to be sent`, () => upstream.calls(name) === 1);

const valuesWritten = (name: string): string[] =>
  gateway.cloud.admin
    .writes()
    .filter((write) => write.name === name)
    .flatMap(({ body }) => (body as { records: { value: string }[] }).records.map(({ value }) => value));

describe('writes to one record set', () => {
  it.each([
    ['one gateway', () => one],
    ['two gateways on one database', () => other],
  ])('go upstream one after the other, in the order of arrival, through %s', async (what, second) => {
    const name = `${what.slice(0, 3)}.order.acme`;
    const release = upstream.hold(name);
    const first = add(name, '192.0.2.1', one);
    await untilSent(name);

    const next = add(name, '192.0.2.2', second());
    // This takes long enough for the next one to be sent if it did not wait for the first.
    expect((await add(`beside.${name.replace('order', 'free')}`, '192.0.2.1', second())).status).toBe(201);
    expect(upstream.calls(name)).toBe(1);
    release();

    expect([(await first).status, (await next).status]).toEqual([201, 201]);
    expect(valuesWritten(name)).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it('are all carried out: twenty concurrent ones lead to twenty records', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => add('many.acme', `192.0.2.${at}`)));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const { json } = await gateway.call('GET', `/zones/${ZONE}/rrsets/many.acme/A`);
    expect(json.rrset.records).toHaveLength(20);
    expect(new Set(valuesWritten('many.acme')).size).toBe(20);
  });

  it('are answered 409 conflict, and never sent later, when their turn comes too late', async () => {
    // Long enough for the first write to be sent.
    const config = { writeWaitMs: 5_000 };
    const impatient = await startGateway({ beside: gateway, upstreamUrl: upstream.url, config });
    const release = upstream.hold('late.acme');
    const first = add('late.acme', '192.0.2.1', impatient);
    await untilSent('late.acme');

    const late = await add('late.acme', '192.0.2.2', impatient);
    release();

    expect([late.status, late.json.error.code]).toEqual([409, 'conflict']);
    expect((await first).status).toBe(201);
    expect(valuesWritten('late.acme')).toEqual(['192.0.2.1']);
    await impatient.close();
  });
});

describe('writes to different record sets of one team', () => {
  it('do not wait for each other', async () => {
    const release = upstream.hold('slow.acme');
    const slow = add('slow.acme', '192.0.2.1', one);
    await untilSent('slow.acme');

    expect((await add('fast.acme', '192.0.2.1', one)).status).toBe(201);
    expect((await one.call('GET', `/zones/${ZONE}/rrsets/fast.acme/A`)).status).toBe(200);
    expect(valuesWritten('slow.acme')).toEqual([]);
    release();

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
