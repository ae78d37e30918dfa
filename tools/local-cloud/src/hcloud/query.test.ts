import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pageOf } from './query.js';

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

  it('contain every item exactly once when all are fetched', () => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 1, max: 20 }), (total, perPage) => {
        const all = Array.from({ length: total }, (_, index) => index);
        const walked: number[] = [];
        for (let page: number | null = 1; page !== null; ) {
          const found: ReturnType<typeof pageOf<number>> = pageOf(all, { page, perPage });
          walked.push(...found.items);
          page = found.pagination.next_page;
        }

        expect(walked).toEqual(all);
      }),
    );
  });
});
