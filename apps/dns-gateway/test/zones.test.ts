import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const get = (path: string) => gateway.call('GET', path);

describe('GET /zones', () => {
  it('lists the one zone as the upstream states it, without an upstream call', async () => {
    const before = gateway.upstreamCalls();

    const answer = await get('/zones');

    expect(answer.status).toBe(200);
    checkDnsAnswer.zoneList(answer.json);
    expect(answer.json.zones).toMatchObject([{ id: gateway.zoneId, name: ZONE, mode: 'primary' }]);
    expect(answer.json.meta.pagination).toEqual({
      page: 1,
      per_page: 25,
      previous_page: null,
      next_page: null,
      last_page: 1,
      total_entries: 1,
    });
    expect(gateway.upstreamCalls()).toBe(before);
  });

  it.each([
    [`name=${ZONE}`, 1],
    ['name=EXAMPLE.TEST', 0],
    [`name=${ZONE}.`, 0],
    ['name=test', 0],
    ['name=www.example.test', 0],
    ['name=', 0],
    ['mode=primary', 1],
    ['mode=secondary', 0],
    ['label_selector=env', 0],
    ['label_selector=!env', 1],
    ['label_selector=', 1],
    ['sort=id%3Aasc&page=1&per_page=50', 1],
    ['sort=name%3Adesc&sort=created', 1],
    ['unknown=1', 1],
  ])('with %s lists %i zones', async (query, count) => {
    const { status, json } = await get(`/zones?${query}`);

    expect(status).toBe(200);
    checkDnsAnswer.zoneList(json);
    expect([json.zones.length, json.meta.pagination.total_entries]).toEqual([count, count]);
  });

  it('ends after its only page', async () => {
    const { json } = await get('/zones?page=2');

    checkDnsAnswer.zoneList(json);
    expect(json.zones).toEqual([]);
    expect(json.meta.pagination).toMatchObject({ page: 2, previous_page: 1, next_page: null, last_page: 1 });
  });

  it('treats per_page=100, which some clients send, as 50 and says so', async () => {
    const { status, json } = await get('/zones?per_page=100');

    expect([status, json.meta.pagination.per_page]).toEqual([200, 50]);
  });

  it.each(['page=0', 'page=x', 'per_page=0', 'per_page=x', 'per_page=-1', 'sort=ttl', 'label_selector=a%20b'])(
    'refuses %s and names the parameter',
    async (query) => {
      const answer = await expectRefusal(gateway, () => get(`/zones?${query}`), 400, 'invalid_input');

      expect(answer.json.error.details.fields[0].name).toBe(query.split('=')[0]);
    },
  );
});

describe('GET /zones/{zone}', () => {
  it('gives the same zone by ID and by name', async () => {
    const [byName, byId] = await Promise.all([get(`/zones/${ZONE}`), get(`/zones/${gateway.zoneId}`)]);

    expect(byName.status).toBe(200);
    checkDnsAnswer.zone(byName.json);
    expect(byId.text).toBe(byName.text);
  });

  it('states id and name first, for clients that cut the text', async () => {
    expect((await get(`/zones/${ZONE}`)).text).toMatch(
      new RegExp(`^\\{"zone":\\{"id":${gateway.zoneId},"name":"${ZONE}"`),
    );
    expect((await get('/zones')).text).toMatch(new RegExp(`^\\{"zones":\\[\\{"id":${gateway.zoneId},"name":"${ZONE}"`));
  });

  it.each([
    'other.test',
    'www.example.test',
    'test',
    'EXAMPLE.TEST',
    'example.test.',
    '1',
    '0',
    '07001',
    '-1',
    '%00',
    '@',
  ])('%s does not exist', async (zone) => {
    await expectRefusal(gateway, () => get(`/zones/${zone}`), 404, 'not_found');
  });

  it.each(['GET', 'POST'])('%s of the record sets of an unknown zone is answered 404', async (method) => {
    const send = () => gateway.call(method, '/zones/other.test/rrsets', method === 'POST' ? { body: '{broken' } : {});

    await expectRefusal(gateway, send, 404, 'not_found');
  });
});

describe('the record count of a zone', () => {
  it('counts only the records of the team', async () => {
    const team = await gateway.createTeam('counted');
    const create = (name: string, of: { token: string }, values: number) => {
      const records = Array.from({ length: values }, (_, at) => ({ value: `192.0.2.${at}` }));
      return gateway.call('POST', `/zones/${ZONE}/rrsets`, { token: of.token, body: { name, type: 'A', records } });
    };
    await create('a.counted', team, 3);
    await create('in.counted', team, 2);
    await create('a.globex', gateway.globex, 7);
    const { token } = await gateway.issueToken(team, { withinName: 'in.counted' });

    const counts = async (of: string) => {
      const [one, list] = await Promise.all(
        [`/zones/${ZONE}`, '/zones'].map((path) => gateway.call('GET', path, { token: of })),
      );
      checkDnsAnswer.zone(one?.json);
      return [one?.json.zone.record_count, list?.json.zones[0].record_count];
    };
    expect(await counts(team.token)).toEqual([5, 5]);
    expect(await counts(token)).toEqual([2, 2]);
  });
});
