import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway, type TestGateway, ZONE } from '../support/start-gateway.js';

const RRSETS = `/zones/${ZONE}/rrsets`;
const future = { since: 2030, list: [1, 'ü', null], nested: { deep: true } };

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  gateway.cloud.admin.setExtraFields({
    zone: { future },
    rrset: { future },
    record: { weight: 7 },
    action: { future },
  });
  await gateway.syncZone();
});
afterAll(() => gateway.close());

const read = async (name: string) => (await gateway.call('GET', `${RRSETS}/${name}/A`)).json.rrset;

async function create(name: string) {
  const body = { name, type: 'A', ttl: 300, labels: { a: 'b' }, records: [{ value: '192.0.2.1', comment: 'one' }] };
  const { status, json } = await gateway.call('POST', RRSETS, { body });
  expect(status).toBe(201);
  return json;
}

describe('fields that the upstream may add in the future', () => {
  it('are in the answer to a creation, in a get and in a list', async () => {
    const { rrset, action } = await create('extra.acme');

    expect(rrset).toMatchObject({ future, records: [{ value: '192.0.2.1', comment: 'one', weight: 7 }] });
    expect(action).toMatchObject({ future });
    expect(await read('extra.acme')).toEqual(rrset);
    const listed = await gateway.call('GET', RRSETS);
    checkDnsAnswer.rrsetList(listed.json);
    expect(listed.json.rrsets).toContainEqual(rrset);
  });

  it.each([
    ['set_records', { records: [{ value: '192.0.2.9' }] }, { records: [{ value: '192.0.2.9', comment: '' }] }],
    [
      'add_records',
      { records: [{ value: '192.0.2.2' }] },
      { records: [{ value: '192.0.2.1', comment: 'one', weight: 7 }, { value: '192.0.2.2' }] },
    ],
    ['change_ttl', { ttl: 60 }, { ttl: 60, records: [{ value: '192.0.2.1', comment: 'one', weight: 7 }] }],
  ])('are still there after %s', async (operation, body, after) => {
    const name = `${operation.replace('_', '-')}.acme`;
    await create(name);

    const { status, json } = await gateway.call('POST', `${RRSETS}/${name}/A/actions/${operation}`, { body });

    expect(status).toBe(201);
    expect(json.action).toMatchObject({ future });
    expect(await read(name)).toMatchObject({ future, labels: { a: 'b' }, ...after });
  });

  it('are still there after a record is removed, and after an update of labels', async () => {
    await create('shrinks.acme');
    await gateway.call('POST', `${RRSETS}/shrinks.acme/A/actions/add_records`, {
      body: { records: [{ value: '192.0.2.2' }] },
    });

    const records = [{ value: '192.0.2.2' }];
    await gateway.call('POST', `${RRSETS}/shrinks.acme/A/actions/remove_records`, { body: { records } });
    const one = await read('shrinks.acme');
    const updated = await gateway.call('PUT', `${RRSETS}/shrinks.acme/A`, { body: { labels: { c: 'd' } } });

    expect(one).toMatchObject({ future, records: [{ value: '192.0.2.1', weight: 7 }] });
    expect(updated.json.rrset).toMatchObject({ future, labels: { c: 'd' } });
    expect(await read('shrinks.acme')).toEqual(updated.json.rrset);
  });

  it('are in the zone, and in the action once it has ended', async () => {
    expect((await gateway.call('GET', `/zones/${ZONE}`)).json.zone).toMatchObject({ future });
    const { action } = await create('action.acme');

    const shown = await gateway.call('GET', `/actions/${action.id}`);

    expect(shown.json.action).toMatchObject({ id: action.id, future });
  });
});

describe('unknown fields that a client sends', () => {
  it('reach the upstream', async () => {
    const body = { name: 'sent.acme', type: 'A', records: [{ value: '192.0.2.1', weight: 9 }], future };

    expect((await gateway.call('POST', RRSETS, { body })).status).toBe(201);

    expect(gateway.cloud.admin.writes().at(-1)?.body).toEqual(body);
  });
});
