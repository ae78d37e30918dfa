import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { linkHeader, type Page, pageOf, sortItems } from './query.js';

const keys = { id: (item: { id: string; n: number }) => item.id, n: (item: { id: string; n: number }) => item.n };
const items = [
  { id: 'b', n: 1 },
  { id: 'a', n: 1 },
  { id: 'c', n: 0 },
];

describe('pages', () => {
  it.each([
    [0, 1, 25, { page: 1, per_page: 25, previous_page: null, next_page: null, last_page: 1, total_entries: 0 }],
    [50, 1, 25, { page: 1, per_page: 25, previous_page: null, next_page: 2, last_page: 2, total_entries: 50 }],
    [51, 3, 25, { page: 3, per_page: 25, previous_page: 2, next_page: null, last_page: 3, total_entries: 51 }],
    [3, 9, 2, { page: 9, per_page: 2, previous_page: 8, next_page: null, last_page: 2, total_entries: 3 }],
  ])('of %i items, page %i by %i, are counted', (total, page, perPage, pagination) => {
    const found = pageOf(Array.from({ length: total }), { page, perPage });

    expect(found.pagination).toEqual(pagination);
  });

  it('hold every item exactly once when followed to the end', () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 1, max: 20 }), (total, perPage) => {
        const all = Array.from({ length: total }, (_, index) => index);
        const walked: number[] = [];
        for (let page: number | null = 1; page !== null; ) {
          const found: Page<number> = pageOf(all, { page, perPage });
          walked.push(...found.items);
          page = found.pagination.next_page;
        }

        expect(walked).toEqual(all);
      }),
    );
  });

  it('link to their neighbours on the real host', () => {
    const page = pageOf(Array.from({ length: 30 }), { page: 2, perPage: 10 });

    const link = linkHeader('//v1/zones?page=2&sort=id%3Aasc', page);

    expect(link).toBe(
      [
        '<https://api.hetzner.cloud/v1/zones?page=1&sort=id%3Aasc>; rel="prev"',
        '<https://api.hetzner.cloud/v1/zones?page=3&sort=id%3Aasc>; rel="next"',
        '<https://api.hetzner.cloud/v1/zones?page=3&sort=id%3Aasc>; rel="last"',
      ].join(', '),
    );
  });
});

describe('sorting', () => {
  it.each([
    [[], 'bac'],
    [['id'], 'abc'],
    [['id:desc'], 'cba'],
    [['n', 'id'], 'cab'],
    [['n:desc', 'id:asc'], 'abc'],
  ])('by %j', (sorts, order) => {
    expect(
      sortItems(items, sorts, keys)
        .map((item) => item.id)
        .join(''),
    ).toBe(order);
  });

  it.each(['', 'name', 'id:up', 'id:asc:x', 'constructor'])('refuses %p', (sort) => {
    expect(() => sortItems(items, [sort], keys)).toThrow('invalid sort');
  });
});
