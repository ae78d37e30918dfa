import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.close());

const app = '/zones/example.net/rrsets/app/A';
const create = (over: object = {}) =>
  cloud.call('POST', '/zones/example.net/rrsets', {
    name: 'app',
    type: 'A',
    ttl: 300,
    records: records('192.0.2.1'),
    ...over,
  });

describe('an rrset', () => {
  it('is returned completely, with its action, when it is created', async () => {
    const created = await create({
      labels: { env: 'prod' },
      records: [{ value: '192.0.2.1', comment: 'blue' }, { value: '192.0.2.2' }],
    });

    expect(created.status).toBe(201);
    expect(created.text).toMatch(
      /^\{"rrset":\{"id":"app\/A","name":"app","type":"A","ttl":300,"labels":\{"env":"prod"\},"protection":\{"change":false\},"records":\[\{"value":"192\.0\.2\.1","comment":"blue"\},\{"value":"192\.0\.2\.2","comment":""\}\],"zone":7001\},"action":\{"id":880001,"command":"create_rrset","status":"running","progress":0,"started":"[-0-9T:]+Z","finished":null,"resources":\[\{"id":7001,"type":"zone"\}\],"error":null\}\}$/,
    );
  });

  it('is visible immediately, by the name and by the number of the zone', async () => {
    const { body } = await create();

    const [byName, byNumber] = [await cloud.call('GET', app), await cloud.call('GET', '/zones/7001/rrsets/app/A')];

    expect([byName.status, byName.body, byNumber.body]).toEqual([200, { rrset: body.rrset }, { rrset: body.rrset }]);
  });

  it.each(['"v=spf1  -all"', '"a" "b"', '"\\"q\\""', '"ünï"'])('keeps its values byte for byte: %s', async (value) => {
    await create({ type: 'TXT', records: records(value) });

    const { body } = await cloud.call('GET', '/zones/7001/rrsets/app/TXT');

    expect(body.rrset.records).toEqual([{ value, comment: '' }]);
  });

  it.each([
    [
      'set_records',
      { records: records('192.0.2.9') },
      201,
      'set_rrset_records',
      { records: [{ value: '192.0.2.9', comment: '' }] },
    ],
    [
      'add_records',
      { records: records('192.0.2.9') },
      201,
      'add_rrset_records',
      {
        records: [
          { value: '192.0.2.1', comment: '' },
          { value: '192.0.2.9', comment: '' },
        ],
      },
    ],
    ['change_ttl', { ttl: null }, 201, 'change_rrset_ttl', { ttl: null }],
  ])('is changed by %s', async (action, request, status, command, change) => {
    const { body: created } = await create();

    const changed = await cloud.call('POST', `${app}/actions/${action}`, request);

    expect([changed.status, Object.keys(changed.body)]).toEqual([status, ['action']]);
    expect(changed.body.action).toMatchObject({ id: 880002, command, status: 'running' });
    expect((await cloud.call('GET', app)).body).toEqual({ rrset: { ...created.rrset, ...change } });
  });

  it.each([
    ['DELETE', '', undefined, 'delete_rrset'],
    ['POST', '/actions/remove_records', { records: records('192.0.2.1') }, 'remove_rrset_records'],
  ])('does not exist after %s %s', async (method, path, body, command) => {
    await create();

    const removed = await cloud.call(method, app + path, body);

    expect([removed.status, removed.body.action.command]).toEqual([201, command]);
    expect((await cloud.call('GET', app)).status).toBe(404);
    expect((await cloud.call('GET', '/zones/7001')).body.zone.record_count).toBe(4);
  });

  it('is returned by PUT, which changes only its labels', async () => {
    const { body: created } = await create();

    const same = await cloud.call('PUT', app, {});
    const labelled = await cloud.call('PUT', app, { labels: { a: 'b' } });

    expect([same.status, same.body]).toEqual([200, { rrset: created.rrset }]);
    expect([labelled.status, labelled.body]).toEqual([200, { rrset: { ...created.rrset, labels: { a: 'b' } } }]);
  });

  it('increases the serial of the zone with every change except labels', async () => {
    const serial = async () =>
      Number((await cloud.call('GET', '/zones/7001/rrsets/@/SOA')).body.rrset.records[0].value.split(' ')[2]);
    const before = await serial();

    await create();
    await cloud.call('POST', `${app}/actions/change_ttl`, { ttl: 60 });
    await cloud.call('PUT', app, { labels: { a: 'b' } });

    expect(await serial()).toBe(before + 2);
  });

  it('can be addressed with a percent-encoded name', async () => {
    await create({ name: '*.dev' });

    const answers = [
      await cloud.call('GET', '/zones/7001/rrsets/%2A.dev/A'),
      await cloud.call('GET', '/zones/7001/rrsets/%40/NS'),
    ];

    expect(answers.map(({ body }) => body.rrset.id)).toEqual(['*.dev/A', '@/NS']);
  });
});

describe('a zone', () => {
  it('is returned completely, with id and name first', async () => {
    const { status, body, text } = await cloud.call('GET', '/zones/example.net');

    expect([status, text.slice(0, 35)]).toEqual([200, '{"zone":{"id":7001,"name":"example.']);
    expect(body.zone).toEqual({
      id: 7001,
      name: 'example.net',
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      mode: 'primary',
      ttl: 3600,
      labels: {},
      protection: { delete: false },
      primary_nameservers: [],
      registrar: 'other',
      status: 'ok',
      record_count: 4,
      authoritative_nameservers: {
        assigned: ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'],
        delegated: ['hydrogen.ns.hetzner.com.', 'oxygen.ns.hetzner.com.', 'helium.ns.hetzner.de.'],
        delegation_last_check: null,
        delegation_status: 'unknown',
      },
    });
  });

  it.each(['/zones/7009', '/zones/example.org', '/zones/EXAMPLE.net', '/zones/0x1b59'])(
    'is not found as %s',
    async (path) => {
      const { status, body } = await cloud.call('GET', path);

      expect([status, body]).toEqual([404, { error: { code: 'not_found', message: 'zone not found', details: null } }]);
    },
  );
});
