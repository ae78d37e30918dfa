import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkDnsAnswer } from '@corral/contracts';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

describe('a record set', () => {
  it('is created, read, listed, changed and deleted as the upstream does it', async () => {
    const { call } = gateway;
    const created = await call('POST', `/zones/${ZONE}/rrsets`, {
      body: { name: 'api.acme', type: 'A', ttl: 300, records: [{ value: '192.0.2.1' }] },
    });
    expect(created.text).toContain('"rrset"');
    expect(created.status).toBe(201);
    checkDnsAnswer.created(created.json);

    const read = await call('GET', `/zones/${gateway.zoneId}/rrsets/api.acme/A`);
    expect(read.json.rrset).toEqual(created.json.rrset);

    const listed = await call('GET', `/zones/${ZONE}/rrsets`);
    expect(listed.json.rrsets).toEqual([created.json.rrset]);
    checkDnsAnswer.rrsetList(listed.json);

    const added = await call('POST', `/zones/${ZONE}/rrsets/api.acme/A/actions/add_records`, {
      body: { records: [{ value: '192.0.2.2', comment: 'blue' }] },
    });
    expect(added.status).toBe(201);
    const upstream = gateway.cloud.admin.zones();
    const after = await call('GET', `/zones/${ZONE}/rrsets/api.acme/A`);
    expect(JSON.stringify(upstream)).toContain(JSON.stringify(after.json.rrset.records));

    const gone = await call('DELETE', `/zones/${ZONE}/rrsets/api.acme/A`);
    expect(gone.status).toBe(201);
    checkDnsAnswer.action(gone.json);
    expect((await call('GET', `/zones/${ZONE}/rrsets/api.acme/A`)).status).toBe(404);
  });
});
