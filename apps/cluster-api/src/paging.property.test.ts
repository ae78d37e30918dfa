import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pageOf, parseCursor, renderCursor } from './paging.js';

const part = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', ''));

describe('a cursor', () => {
  it('is parsed to the values that it was rendered from, and needs no escaping in a query', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (key) => {
        const cursor = renderCursor(key);

        expect(parseCursor(cursor, key.length)).toEqual(key);
        expect(encodeURIComponent(cursor)).toBe(cursor);
      }),
    );
  });

  it('is null with another number of fields, and any text parses without an exception', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.nat(5), (key, fields) => {
        fc.pre(key.length !== fields);
        expect(parseCursor(renderCursor(key), fields)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const parsed = parseCursor(text, 1);
        if (parsed !== null) expect(parsed).toEqual([expect.any(String)]);
      }),
    );
  });

  it('lists all items once, in order, for any page size', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(999), { maxLength: 30 }), fc.integer({ min: 1, max: 10 }), (numbers, limit) => {
        const items = numbers.map((number) => String(number).padStart(3, '0')).sort();
        const seen: string[] = [];
        for (let cursor: string | null = ''; cursor !== null; ) {
          const after: string = cursor === '' ? '' : (parseCursor(cursor, 1)?.[0] as string);
          const rows = items.filter((item) => item > after).slice(0, limit + 1);
          const page: { items: readonly string[]; next: string | null } = pageOf(rows, limit, (item) => [item]);
          seen.push(...page.items);
          cursor = page.next;
        }
        expect(seen).toEqual(items);
      }),
    );
  });
});
