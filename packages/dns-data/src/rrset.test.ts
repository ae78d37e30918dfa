import { describe, expect, it } from '@jest/globals';
import type { RrsetKey, RrsetWrite } from './rrset.js';
import { type Comparison, compareRrset, effectOf, showsEffect } from './rrset.js';

const key: RrsetKey = { zoneId: 7001, name: 'api.acme', type: 'A' };

/**
 * A body as a future upstream may send it: unusual spacing, unknown members, numbers that a JSON parser cannot keep.
 */
const first = '{ "value":"192.0.2.1",  "comment": "a", "weight": 1.0 }';
const second = '{"value":"192.0.2.2","comment":"","big":12345678901234567890}';
const bodyOf = (ttl: string, labels: string, records: string) =>
  `{ "id":"api.acme/A", "name":"api.acme","type":"A","ttl":${ttl},"labels":${labels},"protection":{"change":false},` +
  `"records":${records},"zone":7001, "ratio": 1.50e1, "tags":[ "x" ]\n}`;
const current = bodyOf('300', '{"env": "prod"}', `[${first}, ${second}]`);

describe('effectOf for a set that exists', () => {
  const value = '192.0.2.3';
  const third = `{"value":"${value}","comment":""}`;
  const cases: [string, RrsetWrite, string | null][] = [
    ['delete', { operation: 'delete' }, null],
    [
      'set_records',
      { operation: 'set_records', records: [{ value, comment: 'new' }] },
      bodyOf('300', '{"env": "prod"}', `[{"value":"${value}","comment":"new"}]`),
    ],
    [
      'add_records',
      { operation: 'add_records', ttl: null, records: [{ value }] },
      bodyOf('300', '{"env": "prod"}', `[${first},${second},${third}]`),
    ],
    [
      'add_records of values that are there',
      { operation: 'add_records', ttl: null, records: [{ value: '192.0.2.1' }] },
      bodyOf('300', '{"env": "prod"}', `[${first},${second}]`),
    ],
    [
      'remove_records',
      { operation: 'remove_records', records: [{ value: '192.0.2.1', comment: 'no matter' }] },
      bodyOf('300', '{"env": "prod"}', `[${second}]`),
    ],
    [
      'remove_records of all',
      { operation: 'remove_records', records: [{ value: '192.0.2.1' }, { value: '192.0.2.2' }] },
      null,
    ],
    ['change_ttl', { operation: 'change_ttl', ttl: 60 }, bodyOf('60', '{"env": "prod"}', `[${first}, ${second}]`)],
    [
      'change_ttl to the default',
      { operation: 'change_ttl', ttl: null },
      bodyOf('null', '{"env": "prod"}', `[${first}, ${second}]`),
    ],
    ['update', { operation: 'update', labels: { a: 'b' } }, bodyOf('300', '{"a":"b"}', `[${first}, ${second}]`)],
    ['update without labels', { operation: 'update', labels: null }, current],
  ];

  it.each(cases)('after %s keeps the other bytes unchanged', (_operation, write, left) => {
    expect(effectOf(key, current, write, null)).toBe(left);
  });

  it('returns the set that the upstream stated', () => {
    expect(effectOf(key, current, { operation: 'change_ttl', ttl: 1 }, '{"stated": 1}')).toBe('{"stated": 1}');
  });
});

describe('effectOf for a set that the mirror does not have', () => {
  const records = [{ value: '192.0.2.1' }, { value: '192.0.2.2', comment: null }];
  const made = (ttl: number | null, labels = {}) => ({
    id: 'api.acme/A',
    name: 'api.acme',
    type: 'A',
    ttl,
    labels,
    protection: { change: false },
    zone: 7001,
    records: records.map((record) => ({ value: record.value, comment: '' })),
  });
  const cases: [string, RrsetWrite, object | null][] = [
    ['create', { operation: 'create', ttl: 60, labels: { a: 'b' }, records }, made(60, { a: 'b' })],
    ['set_records', { operation: 'set_records', records }, made(null)],
    ['add_records', { operation: 'add_records', ttl: 60, records }, made(60)],
    ['remove_records', { operation: 'remove_records', records }, null],
    ['change_ttl', { operation: 'change_ttl', ttl: 60 }, null],
    ['update', { operation: 'update', labels: {} }, null],
    ['delete', { operation: 'delete' }, null],
  ];

  it.each(cases)('after %s returns the expected set', (_operation, write, left) => {
    const effect = effectOf(key, null, write, null);

    expect(effect === null ? null : JSON.parse(effect)).toEqual(left);
  });
});

describe('showsEffect', () => {
  const found = current;
  const one = [{ value: '192.0.2.1' }];
  const both = [{ value: '192.0.2.2' }, { value: '192.0.2.1' }];
  const cases: [boolean, string | null, RrsetWrite][] = [
    [true, null, { operation: 'delete' }],
    [false, found, { operation: 'delete' }],
    [true, null, { operation: 'remove_records', records: one }],
    [false, found, { operation: 'remove_records', records: one }],
    [true, found, { operation: 'remove_records', records: [{ value: '192.0.2.9' }] }],
    [true, found, { operation: 'create', ttl: 300, labels: { env: 'prod' }, records: both }],
    [false, found, { operation: 'create', ttl: 60, labels: { env: 'prod' }, records: both }],
    [false, found, { operation: 'create', ttl: 300, labels: { env: 'prod' }, records: one }],
    [false, null, { operation: 'create', ttl: 300, labels: { env: 'prod' }, records: both }],
    [false, found, { operation: 'create', ttl: 300, labels: {}, records: both }],
    [true, found, { operation: 'set_records', records: both }],
    [
      true,
      found,
      { operation: 'set_records', records: [{ value: '192.0.2.1', comment: 'a' }, { value: '192.0.2.2' }] },
    ],
    [
      false,
      found,
      { operation: 'set_records', records: [{ value: '192.0.2.1', comment: 'b' }, { value: '192.0.2.2' }] },
    ],
    [false, found, { operation: 'add_records', ttl: null, records: [{ value: '192.0.2.2', comment: 'new' }] }],
    [false, found, { operation: 'set_records', records: one }],
    [true, found, { operation: 'add_records', ttl: null, records: one }],
    [false, found, { operation: 'add_records', ttl: null, records: [{ value: '192.0.2.9' }] }],
    [true, found, { operation: 'change_ttl', ttl: 300 }],
    [false, found, { operation: 'change_ttl', ttl: null }],
    [true, found, { operation: 'update', labels: { env: 'prod' } }],
    [true, found, { operation: 'update', labels: null }],
    [false, found, { operation: 'update', labels: {} }],
    [false, null, { operation: 'change_ttl', ttl: 300 }],
  ];

  it.each(cases)('returns %p', (shows, body, write) => {
    expect(showsEffect(body, write)).toBe(shows);
  });
});

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
