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

describe('the list of rrsets', () => {
  it('has 25 items per page by default', async () => {
    const { status, body } = await cloud.call('GET', '/zones/7001/rrsets');

    expect([status, ids(body).length]).toEqual([200, 25]);
    expect(Object.entries(body.meta.pagination)).toEqual([
      ['page', 1],
      ['per_page', 25],
      ['previous_page', null],
      ['next_page', 2],
      ['last_page', 5],
      ['total_entries', 122],
    ]);
  });

  it('has at most 100 items per page', async () => {
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

  it('is sorted by id, and empty after its end', async () => {
    const pages = [
      await cloud.call('GET', '/zones/7001/rrsets?per_page=3'),
      await cloud.call('GET', '/zones/7001/rrsets?page=9'),
    ];

    expect(pages.map(({ body }) => ids(body))).toEqual([['@/NS', '@/SOA', 'h000/TXT'], []]);
  });
});

describe('the list of zones', () => {
  it.each([
    ['', ['example.net', 'demo.test']],
    ['name=demo.test', ['demo.test']],
    ['name=www.demo.test', []],
    ['page=2&per_page=1', ['demo.test']],
  ])('filtered by ?%s', async (query, names) => {
    const { status, body } = await cloud.call('GET', `/zones?${query}`);

    expect([status, body.zones.map((zone: { name: string }) => zone.name)]).toEqual([200, names]);
  });

  it('has at most 50 items per page', async () => {
    const { body } = await cloud.call('GET', '/zones?per_page=100');

    expect(body.meta.pagination.per_page).toBe(50);
  });
});
