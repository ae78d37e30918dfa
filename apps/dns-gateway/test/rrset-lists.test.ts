import { checkDnsAnswer } from '@corral/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectRefusal } from './support/expect-refusal.js';
import { startGateway, type TestGateway, ZONE } from './support/start-gateway.js';

const records = [{ value: '192.0.2.1' }];
/** Sets that somebody created upstream. The SOA and the NS of the zone come in addition. */
const held: [string, string, Record<string, string>][] = [
  ['acme', 'TXT', { env: 'prod' }],
  ['*.apps.acme', 'CNAME', {}],
  ['api.acme', 'A', { env: 'prod' }],
  ['api.acme', 'AAAA', { env: 'test' }],
  ['a.prod.acme', 'A', {}],
  ['mail.acme', 'MX', {}],
  ['xacme', 'A', {}],
  ['globex', 'A', {}],
  ['acme.globex', 'A', {}],
  ['www', 'A', {}],
];

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  for (const [name, type, labels] of held) gateway.cloud.admin.putRrset(ZONE, name, type, { labels, records });
  await gateway.syncZone();
});
afterAll(() => gateway.close());

const list = (query = '', token?: string) =>
  gateway.call('GET', `/zones/${ZONE}/rrsets${query}`, token ? { token } : {});
const idsOf = (answer: { json: { rrsets: { id: string }[] } }) => answer.json.rrsets.map((rrset) => rrset.id);

const ofAcme = ['*.apps.acme/CNAME', 'a.prod.acme/A', 'acme/TXT', 'api.acme/A', 'api.acme/AAAA', 'mail.acme/MX'];

describe('GET /zones/{zone}/rrsets', () => {
  it('lists only the sets of the team, without an upstream call', async () => {
    const before = gateway.upstreamCalls();

    const answer = await list();

    checkDnsAnswer.rrsetList(answer.json);
    expect(idsOf(answer)).toEqual(ofAcme);
    expect(answer.json.meta.pagination.total_entries).toBe(6);
    expect(gateway.upstreamCalls()).toBe(before);
  });

  it('passes on bodies byte for byte', async () => {
    const { text } = await list('?name=mail.acme');

    expect(text).toContain(
      `{"id":"mail.acme/MX","name":"mail.acme","type":"MX","ttl":null,"labels":{},"protection":{"change":false},"records":[{"value":"192.0.2.1","comment":""}],"zone":${gateway.zoneId}}`,
    );
  });

  it('gives the same answer for the ID of the zone', async () => {
    const byId = await gateway.call('GET', `/zones/${gateway.zoneId}/rrsets`);

    expect(byId.text).toBe((await list()).text);
  });

  it('shows another team its own sets', async () => {
    expect(idsOf(await list('', gateway.globex.token))).toEqual(['acme.globex/A', 'globex/A']);
  });

  it('shows a narrowed token the sets at and below its name', async () => {
    const { token } = await gateway.issueToken(gateway.acme, { withinName: 'prod.acme' });

    expect(idsOf(await list('', token))).toEqual(['a.prod.acme/A']);
  });

  it('shows a team without sets an empty list with one page', async () => {
    const { token } = await gateway.createTeam('hooli');

    const { json } = await list('', token);

    checkDnsAnswer.rrsetList(json);
    expect(json.rrsets).toEqual([]);
    expect(json.meta.pagination).toMatchObject({ last_page: 1, total_entries: 0, next_page: null });
  });

  it.each([
    ['?', ofAcme],
    ['?name=api.acme', ['api.acme/A', 'api.acme/AAAA']],
    ['?name=globex', []],
    ['?name=API.acme', []],
    ['?name=@', []],
    ['?name=%00', []],
    ['?name=*.apps.acme', ['*.apps.acme/CNAME']],
    ['?name=%2A.apps.acme', ['*.apps.acme/CNAME']],
    ['?type=A', ['a.prod.acme/A', 'api.acme/A']],
    ['?type=A&type=TXT', ['a.prod.acme/A', 'acme/TXT', 'api.acme/A']],
    ['?type=A,TXT', []],
    ['?name=api.acme&type=AAAA', ['api.acme/AAAA']],
    ['?label_selector=env', ['acme/TXT', 'api.acme/A', 'api.acme/AAAA']],
    ['?label_selector=env%20in%20(test)', ['api.acme/AAAA']],
    ['?label_selector=env%3D%3Dprod,!stage', ['acme/TXT', 'api.acme/A']],
    ['?sort=id%3Aasc&page=1&per_page=50', ofAcme],
    ['?sort=id%3Adesc', ofAcme.toReversed()],
    ['?sort=name:desc&sort=id:desc&name=api.acme', ['api.acme/AAAA', 'api.acme/A']],
    ['?per_page=4', ofAcme.slice(0, 4)],
    ['?per_page=4&page=2', ofAcme.slice(4)],
    ['?per_page=4&page=3', []],
    ['?page=9007199254740991', []],
    ['?owner_label=globex&team=globex', ofAcme],
  ])('%s lists %j', async (query, ids) => {
    const answer = await list(query);

    expect(answer.status).toBe(200);
    checkDnsAnswer.rrsetList(answer.json);
    expect(idsOf(answer)).toEqual(ids);
  });

  it.each(['', '&type=A&type=AAAA&type=TXT&type=CNAME&type=MX', '&sort=name'])(
    'next_page leads through all pages and shows each set once%s',
    async (filters) => {
      const walked: string[] = [];
      for (let page: number | null = 1; page !== null; ) {
        const answer = await list(`?per_page=2&page=${page}${filters}`);
        walked.push(...idsOf(answer as never));
        page = answer.json.meta.pagination.next_page as number | null;
      }

      expect(walked).toEqual(ofAcme);
    },
  );

  it('treats per_page=100 as 50 and says so', async () => {
    expect((await list('?per_page=100')).json.meta.pagination).toMatchObject({ per_page: 50, last_page: 1 });
  });

  it.each([
    'page=0',
    'page=x',
    'page=1&page=2',
    'per_page=0',
    'per_page=x',
    'per_page=1.5',
    'per_page=',
    'sort=ttl',
    'sort=id%3Aup',
    'label_selector=%2C',
    'label_selector=a%20b',
  ])('refuses %s', async (query) => {
    await expectRefusal(gateway, () => list(`?${query}`), 400, 'invalid_input');
  });
});

describe('GET /zones/{zone}/rrsets/{name}/{type}', () => {
  const read = (path: string, token?: string) =>
    gateway.call('GET', `/zones/${ZONE}/rrsets/${path}`, token ? { token } : {});

  it.each([
    ['api.acme/A', 'api.acme/A'],
    ['mail.acme/MX', 'mail.acme/MX'],
    ['*.apps.acme/CNAME', '*.apps.acme/CNAME'],
    ['%2A.apps.acme/CNAME', '*.apps.acme/CNAME'],
    ['%61pi.acme/%41', 'api.acme/A'],
  ])('%s is the set %s', async (path, id) => {
    const before = gateway.upstreamCalls();

    const answer = await read(path);

    expect(answer.status).toBe(200);
    checkDnsAnswer.rrset(answer.json);
    expect([answer.json.rrset.id, gateway.upstreamCalls()]).toEqual([id, before]);
  });

  it.each([
    'none.acme/A',
    'api.acme/TXT',
    'api.acme/a',
    'globex/A',
    'xacme/A',
    'www/A',
    '@/SOA',
    '%40/NS',
    'API.acme/A',
    'api.acme./A',
    `api.acme.${ZONE}/A`,
    '%2561pi.acme/A',
    '..%2Fapi.acme/A',
    'api.acme%00/A',
    'api.acme%2FA/A',
  ])('%s is not found, and the answer does not show why', async (path) => {
    const absent = await read('none.acme/A');

    const answer = await expectRefusal(gateway, () => read(path), 404, 'not_found');

    expect(answer.text).toBe(absent.text);
  });
});
