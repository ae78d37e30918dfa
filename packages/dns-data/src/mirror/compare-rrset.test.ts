import { describe, expect, it } from '@jest/globals';
import { type Comparison, compareRrset } from './compare-rrset.js';

const rrset = (change: object = {}): string =>
  JSON.stringify({
    id: 'a/A',
    name: 'a',
    type: 'A',
    ttl: 60,
    labels: { x: '1', y: '2' },
    protection: { change: false },
    records: [
      { value: '1', comment: '' },
      { value: '2', comment: 'two' },
    ],
    zone: 1,
    ...change,
  });
const mirrored = rrset();

const cases: [string, string | null, string | null, Comparison][] = [
  ['nothing on either side', null, null, 'same'],
  ['the same text', mirrored, mirrored, 'same'],
  ['a set that only we know', mirrored, null, 'drifted'],
  ['a set that we do not know', null, mirrored, 'drifted'],
  [
    'records in another order',
    mirrored,
    rrset({ records: [{ value: '2', comment: 'two' }, { value: '1' }] }),
    'restated',
  ],
  ['labels in another order', mirrored, rrset({ labels: { y: '2', x: '1' } }), 'restated'],
  ['a field that we do not know', mirrored, rrset({ tomorrow: true }), 'restated'],
  ['other white space', mirrored, `${mirrored} `, 'restated'],
  ['another TTL', mirrored, rrset({ ttl: 61 }), 'drifted'],
  ['no TTL', mirrored, rrset({ ttl: null }), 'drifted'],
  ['another label', mirrored, rrset({ labels: { x: '1', y: '3' } }), 'drifted'],
  ['protection', mirrored, rrset({ protection: { change: true } }), 'drifted'],
  [
    'a record more',
    mirrored,
    rrset({ records: [{ value: '1' }, { value: '2', comment: 'two' }, { value: '3' }] }),
    'drifted',
  ],
  ['a record less', mirrored, rrset({ records: [{ value: '1' }] }), 'drifted'],
  ['another comment', mirrored, rrset({ records: [{ value: '1' }, { value: '2', comment: 'zwei' }] }), 'drifted'],
];

describe('compareRrset', () => {
  it.each(cases)('recognises %s', (_what, one, other, comparison) => {
    expect(compareRrset('A', one, other)).toBe(comparison);
  });

  it('does not report a changed SOA serial as drift', () => {
    expect(compareRrset('SOA', rrset(), rrset({ records: [{ value: 'serial 2' }] }))).toBe('restated');
    expect(compareRrset('SOA', rrset(), null)).toBe('drifted');
  });
});
