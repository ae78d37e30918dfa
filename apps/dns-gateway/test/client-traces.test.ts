import { checkDnsAnswer } from '@corral/contracts';
import { sendRaw, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

/*
 * The calls of existing clients, with the checks that they make on the answers. Clients check statuses exactly, index members
 * without checks, and split ids. These tests do the same.
 */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  gateway.call(method, path, body === undefined ? { headers } : { body, headers });
const rrsets = (zone: string | number, below = '') => `/zones/${zone}/rrsets${below}`;
const codeOf = (answer: Answer) => [answer.status, answer.json.error?.code];
const challenge = '"LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM"';

/** Polls like a client. @returns the finished action */
const wait = ({ json }: Answer, path = '/actions') => {
  checkDnsAnswer.action(json);
  return waitFor('the end of an action', async () => {
    const polled = await call('GET', `${path}/${json.action.id}`);
    expect(polled.status).toBe(200);
    return polled.json.action.status === 'success' && polled.json.action;
  });
};

describe('Terraform', () => {
  it('creates, refreshes, updates and destroys hcloud_zone_rrset', async () => {
    const body = { name: 'tf.acme', type: 'A', ttl: 300, labels: {}, records: [{ value: '192.0.2.1' }] };
    const created = await call('POST', rrsets(ZONE), body);
    checkDnsAnswer.created(created.json);
    const { id, zone } = created.json.rrset;
    const [name, type] = (id as string).split('/');
    const path = rrsets(zone, `/${name}/${type}`);
    const polled = await call('GET', `/actions?id=${created.json.action.id}&page=1&sort=status&sort=id`);
    expect(polled.json.actions).toHaveLength(1);

    const planned = await call('GET', path);
    expect(planned.json.rrset).toMatchObject({ ttl: 300, labels: {}, records: [{ value: '192.0.2.1', comment: '' }] });

    // Both are sent before any wait. A PUT always follows, and its answer becomes the state.
    const ttl = await call('POST', `${path}/actions/change_ttl`, { ttl: null });
    const records = await call('POST', `${path}/actions/set_records`, { records: [{ value: '192.0.2.2' }] });
    const ids = [ttl.json.action.id, records.json.action.id].sort((a, b) => a - b);
    const both = await call('GET', `/actions?id=${ids[0]}&id=${ids[1]}&page=1&sort=status&sort=id`);
    expect(both.json.actions).toHaveLength(2);
    const put = await call('PUT', path, {});
    expect(put.status).toBe(200);
    expect(put.json.rrset).toMatchObject({ ttl: null, labels: {}, records: [{ value: '192.0.2.2' }] });
    const labelled = await call('PUT', path, { labels: { env: 'prod' } });
    expect(labelled.json.rrset.labels).toEqual({ env: 'prod' });

    expect((await call('DELETE', path)).status).toBe(201);
    expect(codeOf(await call('GET', path))).toEqual([404, 'not_found']);
    expect(codeOf(await call('DELETE', path))).toEqual([404, 'not_found']);
  });
});

describe('ACME clients', () => {
  it('the cert-manager webhook treats a repeated challenge and a missing set as success', async () => {
    const path = rrsets(ZONE, '/_acme-challenge.cm.acme/TXT/actions');
    const body = { records: [{ value: challenge }], ttl: 300 };
    await wait(await call('POST', `${path}/add_records`, body));

    const again = await call('POST', `${path}/add_records`, body);

    expect(codeOf(again)).toEqual([422, 'invalid_input']);
    expect(again.json.error.message).toMatch(/^duplicate value '/);
    await wait(await call('POST', `${path}/remove_records`, body));
    expect(codeOf(await call('POST', `${path}/remove_records`, body))).toEqual([404, 'not_found']);
  });

  it('acme.sh walks up to the zone, and encodes names', async () => {
    const get = (path: string) => sendRaw(gateway.url, { path: `/v1${path}`, token: gateway.acme.token });
    for (const label of ['sh.acme', 'acme']) {
      expect((await get(`/zones/${label}.${ZONE}`)).status).toBe(404);
      const list = await get(`/zones?name=${label}.${ZONE}`);
      expect([list.status, list.json.zones]).toEqual([200, []]);
    }
    const zone = await get(`/zones/${ZONE}`);
    // acme.sh cuts the text: the first id and the first name must be the zone's.
    expect(/"id":\s*(\d+)/.exec(zone.text)?.[1]).toBe(String(gateway.zoneId));
    expect(/"name":\s*"([^"]*)"/.exec(zone.text)?.[1]).toBe(ZONE);
    const path = `/zones/${gateway.zoneId}/rrsets/_acme-challenge.%2A.sh.acme`;
    expect((await get(`${path.replace('%2A.', '')}/TXT`)).status).toBe(404);
    const records = [{ value: challenge }];
    const added = await call('POST', rrsets(gateway.zoneId, '/%5Facme-challenge.sh.acme/TXT/actions/add_records'), {
      ttl: 120,
      records,
    });
    expect(added.status).toBe(201);
    expect((await get('/zones/example.test/rrsets/_acme-challenge.sh.acme/TXT')).text).toContain(
      JSON.stringify(challenge),
    );
  });

  it('two clients with different TTLs at one name get the upstream’s error', async () => {
    const path = rrsets(ZONE, '/_acme-challenge.two.acme/TXT/actions/add_records');
    await call('POST', path, { ttl: 120, records: [{ value: '"one"' }] });

    const second = await call('POST', path, { ttl: 60, records: [{ value: '"two"' }] });

    expect(codeOf(second)).toEqual([422, 'invalid_input']);
    expect(second.json.error.message).toContain('differing record TTLs');
  });
});

describe('libraries and tools', () => {
  it('ExternalDNS requests 100 per page, and writes without waiting', async () => {
    const zones = await call('GET', '/zones?per_page=100');
    const { page, last_page } = zones.json.meta.pagination;
    expect([zones.status, page >= last_page]).toEqual([200, true]);
    const path = rrsets(zones.json.zones[0].id);
    expect((await call('GET', `${path}?per_page=100`)).status).toBe(200);

    const one = { name: 'ext.acme', type: 'A', ttl: 3600, labels: {}, records: [{ value: '192.0.2.1' }] };
    const answers = await Promise.all([
      call('POST', path, one),
      call('POST', `${path}/ext.acme/A/actions/set_records`, { records: [{ value: '192.0.2.2' }] }),
      call('POST', `${path}/ext.acme/A/actions/change_ttl`, { ttl: 60 }),
      call('PUT', `${path}/reg-a.ext.acme/TXT`, { labels: {} }),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 404]);
    const { json } = await call('GET', `${path}/ext.acme/A`);
    expect(json.rrset).toMatchObject({ ttl: 60, records: [{ value: '192.0.2.2' }] });
  });

  it('community.dns of Ansible sends nulls, and indexes comments and details', async () => {
    const zone = await call('GET', `/zones/${ZONE}`);
    const path = rrsets(zone.json.zone.id);
    expect((await call('GET', `${path}?name=an.acme&type=A&per_page=100&page=1`)).json.rrsets).toEqual([]);
    const body = { name: 'an.acme', type: 'A', ttl: null, records: [{ value: '192.0.2.1', comment: null }] };

    const created = await call('POST', path, body);

    expect([created.status, created.json.rrset.records]).toEqual([201, [{ value: '192.0.2.1', comment: '' }]]);
    await call('POST', `${path}/an.acme/A/actions/set_records`, { records: [{ value: '192.0.2.2', comment: null }] });
    expect((await call('GET', `${path}/an.acme/A`)).json.rrset.records).toEqual([{ value: '192.0.2.2', comment: '' }]);
    const missing = await call('DELETE', `${path}/none.an.acme/A`);
    expect([...codeOf(missing), 'details' in missing.json.error]).toEqual([404, 'not_found', true]);
  });
});
