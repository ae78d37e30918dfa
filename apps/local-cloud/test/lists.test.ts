import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { records, startTestCloud, type TestCloud } from './start-test-cloud.js';

let cloud: TestCloud;
beforeAll(async () => {
  cloud = await startTestCloud();
  for (let index = 0; index < 120; index += 1) {
    const name = `h${String(index).padStart(3, '0')}`;
    const labels = { parity: index % 2 === 0 ? 'even' : 'odd' };
    cloud.admin.putRrset('example.net', name, index % 3 === 0 ? 'TXT' : 'A', { records: records('"x"'), labels });
  }
});
afterAll(() => cloud.close());

const ids = (body: { rrsets: { id: string }[] }): string[] => body.rrsets.map((rrset) => rrset.id);

describe('the list of sets', () => {
  it('has 25 to a page unless asked otherwise', async () => {
    const { status, body, headers } = await cloud.call('GET', '/zones/7001/rrsets');

    expect([status, ids(body).length]).toEqual([200, 25]);
    expect(Object.entries(body.meta.pagination)).toEqual([
      ['page', 1],
      ['per_page', 25],
      ['previous_page', null],
      ['next_page', 2],
      ['last_page', 5],
      ['total_entries', 122],
    ]);
    expect(headers.get('Link')).toContain('<https://api.hetzner.cloud/v1/zones/7001/rrsets?page=2>; rel="next"');
  });

  it('has at most 100 to a page', async () => {
    const { body } = await cloud.call('GET', '/zones/7001/rrsets?per_page=500&page=2');

    expect(body.meta.pagination).toMatchObject({
      page: 2,
      per_page: 100,
      previous_page: 1,
      next_page: null,
      last_page: 2,
    });
    expect(ids(body)).toHaveLength(22);
  });

  it.each([
    ['name=h003', ['h003/TXT']],
    ['name=%40', ['@/NS', '@/SOA']],
    ['name=h003&type=A', []],
    ['type=SOA&type=NS', ['@/NS', '@/SOA']],
    ['type=SOA&type=NS&sort=id%3Adesc', ['@/SOA', '@/NS']],
    ['type=SOA&type=NS&sort=name&sort=created:asc', ['@/SOA', '@/NS']],
    ['sort=created:desc&per_page=2', ['h119/A', 'h118/A']],
    ['label_selector=parity%3Dodd&type=TXT&per_page=2', ['h003/TXT', 'h009/TXT']],
    ['label_selector=!parity', ['@/NS', '@/SOA']],
    ['page=9', []],
    ['', undefined],
  ])('filtered by ?%s', async (query, expected) => {
    const { status, body } = await cloud.call('GET', `/zones/7001/rrsets?${query}`);

    expect([status, ids(body)]).toEqual([200, expected ?? expect.any(Array)]);
  });
});

describe('the list of zones', () => {
  it.each([
    ['', ['example.net', 'demo.test']],
    ['name=demo.test', ['demo.test']],
    ['name=www.demo.test', []],
    ['mode=primary', ['example.net', 'demo.test']],
    ['mode=secondary', []],
    ['sort=name', ['demo.test', 'example.net']],
    ['sort=id%3Adesc', ['demo.test', 'example.net']],
    ['label_selector=env', []],
    ['page=2&per_page=1', ['demo.test']],
  ])('filtered by ?%s', async (query, names) => {
    const { status, body } = await cloud.call('GET', `/zones?${query}`);

    expect([status, body.zones.map((zone: { name: string }) => zone.name)]).toEqual([200, names]);
  });

  it('has at most 50 to a page', async () => {
    const { body } = await cloud.call('GET', '/zones?per_page=100');

    expect(body.meta.pagination.per_page).toBe(50);
  });
});
