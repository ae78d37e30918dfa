import type { MirroredRrset } from '@corral/dns-mirror';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRrsetQuery } from './list-query.js';
import { isPlain, selectRrsets } from './select-rrsets.js';

interface Given {
  name: string;
  type?: string;
  labels?: Record<string, string>;
  seen?: number;
}

const rrset = ({ name, type = 'A', labels = {}, seen = 0 }: Given): MirroredRrset => ({
  name,
  type,
  body: JSON.stringify({ id: `${name}/${type}`, labels, records: [{ value: 'x', comment: '' }] }),
  firstSeenAt: new Date(seen),
});
const query = (text: string) => parseRrsetQuery(new URLSearchParams(text));
const idsOf = (given: readonly Given[], text: string) =>
  selectRrsets(given.map(rrset), query(text)).bodies.map((body) => (JSON.parse(body) as { id: string }).id);

const held: Given[] = [
  { name: 'b.acme', seen: 1, labels: { env: 'prod' } },
  { name: 'acme', type: 'TXT', seen: 3, labels: { env: 'test' } },
  { name: 'a.acme', seen: 2 },
  { name: 'a.acme', type: 'AAAA', seen: 2, labels: { env: 'prod' } },
];

describe('selectRrsets', () => {
  it.each([
    ['', ['a.acme/A', 'a.acme/AAAA', 'acme/TXT', 'b.acme/A']],
    ['sort=id:desc', ['b.acme/A', 'acme/TXT', 'a.acme/AAAA', 'a.acme/A']],
    ['sort=name:desc', ['b.acme/A', 'acme/TXT', 'a.acme/A', 'a.acme/AAAA']],
    ['sort=created', ['b.acme/A', 'a.acme/A', 'a.acme/AAAA', 'acme/TXT']],
    ['sort=created:desc&sort=id:desc', ['acme/TXT', 'a.acme/AAAA', 'a.acme/A', 'b.acme/A']],
    ['name=a.acme', ['a.acme/A', 'a.acme/AAAA']],
    ['name=A.acme', []],
    ['type=A', ['a.acme/A', 'b.acme/A']],
    ['type=TXT&type=AAAA', ['a.acme/AAAA', 'acme/TXT']],
    ['type=a', []],
    ['label_selector=env', ['a.acme/AAAA', 'acme/TXT', 'b.acme/A']],
    ['label_selector=env!%3Dprod', ['a.acme/A', 'acme/TXT']],
    ['label_selector=env%3Dprod&type=A&name=b.acme', ['b.acme/A']],
    ['per_page=3&page=2', ['b.acme/A']],
    ['per_page=3&page=3', []],
  ])('%j gives %j', (text, ids) => {
    expect(idsOf(held, text)).toEqual(ids);
  });

  it('counts the sets of all pages, after the filters', () => {
    expect(selectRrsets(held.map(rrset), query('type=A&per_page=1&page=7'))).toEqual({ total: 2, bodies: [] });
  });

  it('partitions its list into pages, in any order of arrival and by any sort', () => {
    const set = fc.record({
      name: fc.constantFrom('acme', 'a.acme', 'b.acme', 'a-b.acme', 'a.b.acme', '*.acme', '_x.acme'),
      type: fc.constantFrom('A', 'AAAA', 'TXT'),
      seen: fc.nat({ max: 2 }),
    });
    const sets = fc.uniqueArray(set, { selector: ({ name, type }) => `${name}/${type}`, maxLength: 21 });
    const sort = fc.subarray(['sort=name', 'sort=created:desc', 'sort=id:desc']).map((all) => all.join('&'));
    fc.assert(
      fc.property(sets, sort, fc.integer({ min: 1, max: 5 }), (all, sorted, perPage) => {
        const paged: string[] = [];
        for (let page = 1; paged.length < all.length; page += 1) {
          const ids = idsOf(all.toReversed(), `${sorted}&per_page=${perPage}&page=${page}`);
          expect(ids.length).toBeGreaterThan(0);
          paged.push(...ids);
        }
        expect(paged).toEqual(idsOf(all, `${sorted}&per_page=50`));
        expect([...paged].sort()).toEqual(all.map(({ name, type }) => `${name}/${type}`).sort());
      }),
    );
  });

  it('leaves the list it was given as it was', () => {
    const given = held.map(rrset);
    const before = [...given];

    selectRrsets(given, query('sort=name:desc'));

    expect(given).toEqual(before);
  });
});

describe('isPlain', () => {
  it.each([
    ['', true],
    ['page=2&per_page=50', true],
    ['sort=id', true],
    ['sort=id:asc&sort=name:desc', true],
    ['label_selector=', true],
    ['sort=id:desc', false],
    ['sort=name', false],
    ['name=acme', false],
    ['name=', false],
    ['type=A', false],
    ['label_selector=a', false],
  ])('of %j is %j', (text, expected) => {
    expect(isPlain(query(text))).toBe(expected);
  });
});
