import { describe, expect, it } from '@jest/globals';
import nock from 'nock';
import { UpstreamCredentialsRefused, UpstreamUnavailable } from '../src/index.js';
import { aClient, anError } from './a-client.js';
import { interceptRequests } from './intercept-requests.js';

const upstream = () => nock('http://upstream.test');
const zoneText = '{"id": 7001, "name": "example.net", "mode": "primary",  "ttl":3.6e3, "new": {"a":[ ]}}';
const rrsetText =
  '{"id": "app/A", "name":"app", "type": "A",\n "ttl": null, "records": [ {"value":"192.0.2.1","comment":""} ]}';

interceptRequests();

describe('readZone', () => {
  it.each([
    ['by name', 'example.net', '/v1/zones/example.net'],
    ['by id', 7001, '/v1/zones/7001'],
    ['by an id in words', '7001', '/v1/zones/7001'],
  ])('finds a zone %s and keeps its text', async (_what, idOrName, path) => {
    const { client } = aClient();
    upstream().get(path).reply(200, `{ "zone" : ${zoneText} }`);

    const zone = await client.readZone(idOrName);

    expect(zone).toEqual({ kind: 'found', id: 7001, name: 'example.net', mode: 'primary', body: zoneText });
  });

  it('returns null for an absent zone', async () => {
    const { client } = aClient();
    upstream().get('/v1/zones/example.net').reply(404, anError('not_found'));

    expect(await client.readZone('example.net')).toEqual({ kind: 'absent' });
  });

  it.each([
    ['another zone', `{"zone": ${zoneText.replace('example.net', 'example.com')}}`],
    ['a zone without id', '{"zone": {"name": "example.net", "mode": "primary"}}'],
    ['a zone with an id beyond 2^53', '{"zone": {"id": 9007199254740993, "name": "example.net", "mode": "primary"}}'],
    ['no zone', '{"zones": []}'],
  ])('rejects %s as unusable', async (_what, body) => {
    const { client } = aClient();
    upstream().get('/v1/zones/example.net').times(9).reply(200, body);

    await expect(client.readZone('example.net')).rejects.toThrow(UpstreamUnavailable);
  });

  it.each([[0], [-1], [1.5], [Number.NaN], [2 ** 53]])('sends no request for the id %d', async (id) => {
    const { client, calls } = aClient();

    await expect(client.readZone(id)).rejects.toThrow(TypeError);
    expect(calls).toEqual([]);
  });
});

describe('readRrset', () => {
  it('finds an rrset and keeps its text', async () => {
    const { client } = aClient();
    upstream().get('/v1/zones/7001/rrsets/app/A').reply(200, `{"rrset": ${rrsetText}, "more": 1}`);

    expect(await client.readRrset(7001, 'app', 'A')).toEqual({ kind: 'found', body: rrsetText });
  });

  it('returns null for an absent rrset', async () => {
    const { client } = aClient();
    upstream().get('/v1/zones/7001/rrsets/@/TXT').reply(404, anError('not_found'));

    expect(await client.readRrset(7001, '@', 'TXT')).toEqual({ kind: 'absent' });
  });

  it('rejects the answer about another rrset as unusable, and retries', async () => {
    const { client, calls } = aClient({ waitMsMax: 2_000 });
    upstream()
      .get('/v1/zones/7001/rrsets/app/A')
      .reply(200, `{"rrset": ${rrsetText.replace('"app"', '"web"')}}`);
    upstream().get('/v1/zones/7001/rrsets/app/A').reply(200, `{"rrset": ${rrsetText}}`);

    expect(await client.readRrset(7001, 'app', 'A')).toEqual({ kind: 'found', body: rrsetText });
    expect(calls.map((call) => call.outcome)).toEqual(['passing', 'parsed']);
  });
});

describe('listRrsets', () => {
  const page = (pagination: string, rrsets = `[ ${rrsetText} , {"name":"@","type":"NS"} ]`) =>
    `{"rrsets": ${rrsets}, "meta": {"pagination": ${pagination}}}`;
  const path = '/v1/zones/7001/rrsets?page=2&per_page=100';

  it('returns the rrsets of a page with their texts, and the next page', async () => {
    const { client } = aClient();
    upstream().get(path).reply(200, page('{"page": 2, "next_page": 3, "total_entries": 202}'));

    expect(await client.listRrsets(7001, 2)).toEqual({
      rrsets: [
        { name: 'app', type: 'A', body: rrsetText },
        { name: '@', type: 'NS', body: '{"name":"@","type":"NS"}' },
      ],
      nextPage: 3,
      totalEntries: 202,
    });
  });

  it.each([
    ['null', '{"next_page": null, "total_entries": null}'],
    ['0', '{"next_page": 0}'],
  ])('ends at the next page %s', async (_what, pagination) => {
    const { client } = aClient();
    upstream().get(path).reply(200, page(pagination, '[]'));

    expect(await client.listRrsets(7001, 2)).toEqual({ rrsets: [], nextPage: null, totalEntries: null });
  });

  it.each([
    ['has no meta, and could be the first of many', `{"rrsets": [${rrsetText}]}`],
    ['has no next_page', page('{"page": 2}')],
    ['leads back to itself', page('{"next_page": 2}')],
    ['holds a set without type', page('{"next_page": null}', '[{"name": "app"}]')],
    ['holds a set that is null', page('{"next_page": null}', '[null]')],
    ['holds no list', page('{"next_page": null}', '{}')],
  ])('rejects a page as unusable that %s', async (_what, body) => {
    const { client } = aClient();
    upstream().get(path).times(9).reply(200, body);

    await expect(client.listRrsets(7001, 2)).rejects.toThrow(UpstreamUnavailable);
  });

  it('does not treat an absent zone as an empty one', async () => {
    const { client } = aClient();
    upstream().get(path).reply(404, anError('not_found'));

    await expect(client.listRrsets(7001, 2)).rejects.toMatchObject({
      reason: expect.stringContaining('404 not_found'),
    });
  });
});

describe('readActions', () => {
  const actionText = (id: number, status = 'success') => `{"id": ${id}, "status": "${status}", "new" : 1.0}`;

  it('requests 50 ids at a time, each once, and drops actions that it did not request', async () => {
    const { client, calls } = aClient();
    const ids = Array.from({ length: 60 }, (_, index) => index + 1);
    const answer = ({ url }: Request) => {
      const asked = new URL(url).searchParams.getAll('id').map(Number);
      return `{"actions": [${[...asked, 999].map((id) => actionText(id)).join(', ')}]}`;
    };
    upstream().get('/v1/actions').query(true).twice().reply(200, answer);

    const actions = await client.readActions([...ids, 1, 2]);

    expect(actions).toEqual(ids.map((id) => ({ id, status: 'success', body: actionText(id) })));
    expect(calls).toHaveLength(2);
  });

  it.each(['running', 'success', 'error'])('returns the status %s', async (status) => {
    const { client } = aClient();
    upstream()
      .get('/v1/actions?id=5&per_page=50')
      .reply(200, `{"actions": [${actionText(5, status)}]}`);

    expect(await client.readActions([5])).toEqual([{ id: 5, status, body: actionText(5, status) }]);
  });

  it('omits actions that the upstream does not know', async () => {
    const { client } = aClient();
    upstream().get('/v1/actions?id=5&per_page=50').reply(200, '{"actions": []}');

    expect(await client.readActions([5])).toEqual([]);
  });

  it('sends no request for no ids', async () => {
    const { client, calls } = aClient();

    expect(await client.readActions([])).toEqual([]);
    expect(calls).toEqual([]);
  });

  it('rejects an unknown status as unusable', async () => {
    const { client } = aClient();
    upstream()
      .get('/v1/actions?id=5&per_page=50')
      .times(9)
      .reply(200, `{"actions": [${actionText(5, 'paused')}]}`);

    await expect(client.readActions([5])).rejects.toThrow(UpstreamUnavailable);
  });
});

describe('a read', () => {
  const path = '/v1/zones/7001/rrsets/app/A';
  const found = `{"rrset": ${rrsetText}}`;

  it.each([
    [502, anError('bad_gateway')],
    [503, anError('unavailable')],
    [504, '<html>'],
    [200, '{"rrset": '],
    [500, ''],
  ])('answered %i %j is repeated', async (status, body) => {
    const { client } = aClient({ waitMsMax: 2_000 });
    upstream().get(path).reply(status, body);
    upstream().get(path).reply(200, found);

    expect((await client.readRrset(7001, 'app', 'A')).kind).toBe('found');
  });

  it.each([
    [500, 'server_error'],
    [422, 'incorrect_zone_mode'],
    [403, 'maintenance'],
    [404, 'a_code_of_tomorrow'],
  ])('answered %i %s fails immediately with the reason', async (status, code) => {
    const { client, calls } = aClient();
    upstream().get(path).reply(status, anError(code));

    await expect(client.readRrset(7001, 'app', 'A')).rejects.toMatchObject({
      name: 'UpstreamUnavailable',
      reason: `${status} ${code}`,
    });
    expect(calls).toHaveLength(1);
  });

  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
  ])('answered %i %s fails immediately and is logged as our error', async (status, code) => {
    const { client, calls, logged } = aClient();
    upstream().get(path).reply(status, anError(code));

    const reading = client.readRrset(7001, 'app', 'A');

    await expect(reading).rejects.toThrow(UpstreamCredentialsRefused);
    await expect(reading).rejects.toMatchObject({ name: 'UpstreamCredentialsRefused', status, code });
    expect(calls).toHaveLength(1);
    expect(logged).toEqual([expect.stringContaining('upstream refuses our token')]);
  });

  it('that gets 429 is repeated after the time that the upstream states', async () => {
    const { client } = aClient({ waitMsMax: 60_000 });
    upstream().get(path).reply(429, anError('rate_limit_exceeded'), { 'Retry-After': '1' });
    upstream().get(path).reply(200, found);

    expect((await client.readRrset(7001, 'app', 'A')).kind).toBe('found');
  });

  it('reports how long the budget is exhausted when the wait would be too long', async () => {
    const { client } = aClient();
    upstream().get(path).reply(429, anError('rate_limit_exceeded'), { 'Retry-After': '60' });

    await expect(client.readRrset(7001, 'app', 'A')).rejects.toMatchObject({ retryAfterSeconds: 60 });
  });

  it('stops after five unusable answers, because each costs budget', async () => {
    const { client, calls } = aClient({ waitMsMax: 60_000 });
    upstream().get(path).times(9).reply(503, '<html>');

    await expect(client.readRrset(7001, 'app', 'A')).rejects.toThrow(UpstreamUnavailable);
    expect(calls).toHaveLength(5);
  });
});
