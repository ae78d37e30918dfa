import type { Rrset } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { type ListSearch, rangeOf, shownSets } from './shown-sets.js';

const aSet = (name: string, type: string, ttl: number | null, labels: Rrset['labels'], value: string): Rrset => ({
  id: `${name}/${type}`,
  name,
  type,
  ttl,
  labels,
  protection: { change: false },
  records: [{ value, comment: '' }],
  zone: 1,
});
const sets = [
  aSet('n10', 'A', 300, { env: 'prod' }, '192.0.2.1'),
  aSet('n9', 'TXT', null, {}, '"Hello"'),
  aSet('n9', 'A', 60, { env: 'test' }, '192.0.2.30'),
];

describe('the list of record sets', () => {
  it.each<[search: ListSearch, shown: string[]]>([
    [{}, ['n9/A', 'n9/TXT', 'n10/A']],
    [{ sort: '-name' }, ['n10/A', 'n9/TXT', 'n9/A']],
    [{ sort: 'type' }, ['n9/A', 'n10/A', 'n9/TXT']],
    [{ sort: 'ttl' }, ['n9/TXT', 'n9/A', 'n10/A']],
    [{ sort: 'of another kind' }, ['n9/A', 'n9/TXT', 'n10/A']],
    [{ filter: ' hello' }, ['n9/TXT']],
    [{ filter: 'env=' }, ['n9/A', 'n10/A']],
    [{ type: 'A', label: 'env=prod' }, ['n10/A']],
    [{ filter: 'nothing' }, []],
  ])('has what the search %j asks for', (search, shown) => {
    expect(shownSets(sets, search).map(({ id }) => id)).toEqual(shown);
  });

  it('keeps the set that is edited', () => {
    expect(shownSets(sets, { filter: 'hello' }, 'n10 A').map(({ id }) => id)).toEqual(['n9/TXT', 'n10/A']);
  });

  it.each([
    ['b', 'd', 'bcd'],
    ['d', 'b', 'bcd'],
    ['c', 'c', 'c'],
    ['gone', 'c', 'c'],
  ])('selects from %s to %s: %s', (one, other, range) => {
    expect(rangeOf([...'abcde'], one, other).join('')).toBe(range);
  });
});
