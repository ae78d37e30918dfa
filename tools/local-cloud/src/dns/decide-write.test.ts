import { describe, expect, it } from '@jest/globals';
import type { ApiError, Body } from '../hcloud/answers.js';
import { rrsetActions, rrsetWrites, type Target, type WriteKind } from './decide-write.js';
import type { Rrset } from './model.js';

const kinds: Readonly<Record<string, WriteKind>> = { ...rrsetWrites, ...rrsetActions };

const records = (...values: string[]) => values.map((value) => ({ value, comment: '' }));

const held: Rrset = {
  name: 'app',
  type: 'A',
  ttl: 300,
  labels: { env: 'prod' },
  protection: { change: false },
  records: [
    { value: '192.0.2.1', comment: 'blue' },
    { value: '192.0.2.2', comment: '' },
  ],
};
const absent: Target = { name: 'app', type: 'A', current: null, typesAtName: [] };
const present: Target = { name: 'app', type: 'A', current: held, typesAtName: ['A'] };

const decide = (kind: string, body: Body, target: Target) => kinds[kind]?.decide(target, body);

describe('a write', () => {
  it.each(['create', 'add_records'])('makes a missing set with the given TTL and values: %s', (kind) => {
    const made = decide(kind, { ttl: 120, records: [{ value: '192.0.2.1' }] }, absent);

    expect(made).toEqual({ ...held, ttl: 120, labels: {}, records: records('192.0.2.1') });
  });

  const one = records('192.0.2.1');
  const more = records('192.0.2.3');
  it.each<[string, string, Body, Partial<Rrset> | null]>([
    ['replaces the records and drops their comments', 'set_records', { records: one }, { records: one }],
    ['appends', 'add_records', { ttl: 300, records: more }, { records: [...held.records, ...more] }],
    [
      'removes records by value, whatever the comment',
      'remove_records',
      { records: [{ value: '192.0.2.1', comment: 'green' }] },
      { records: records('192.0.2.2') },
    ],
    ['drops the set with its last record', 'remove_records', { records: records('192.0.2.2', '192.0.2.1') }, null],
    ['changes the TTL', 'change_ttl', { ttl: null }, { ttl: null }],
    ['replaces the whole map of labels', 'putLabels', { labels: { a: 'b' } }, { labels: { a: 'b' } }],
    ['keeps labels that are not given', 'putLabels', {}, {}],
    ['drops the set', 'remove', {}, null],
  ])('%s: %s', (_sentence, kind, body, change) => {
    expect(decide(kind, body, present)).toEqual(change === null ? null : { ...held, ...change });
  });

  const cname: Target = { ...absent, type: 'CNAME' };
  const coexists = "CNAME cannot coexist with other types at 'app'";
  it.each<[kind: string, values: string[], Target, status: number, message: string, field: string | undefined]>([
    ['create', ['192.0.2.9'], present, 409, 'RRSet already exists', 'name'],
    ['set_records', ['192.0.2.9'], absent, 404, 'rrset not found', undefined],
    ['remove', [], absent, 404, 'rrset not found', undefined],
    ['add_records', ['192.0.2.2'], present, 422, "duplicate value '192.0.2.2'", 'records[0].records[0].value'],
    ['create', ['::1', '::1'], absent, 422, "duplicate value '::1'", 'rrsets[0].records[1].value'],
    [
      'add_records',
      ['192.0.2.3'],
      { ...present, current: { ...held, ttl: 60 } },
      422,
      'RRSet has differing record TTLs',
      'ttl',
    ],
    ['remove_records', ['192.0.2.9'], present, 422, "value '192.0.2.9' not found", 'records[0].records[0].value'],
    ['set_records', ['x'], present, 422, "invalid value 'x'", 'records[0].records[0].value'],
    ['create', ['192.0.2.1'], { ...absent, name: 'APP' }, 422, "invalid name 'APP'", 'rrsets[0].name'],
    ['create', ['x'], { ...absent, type: 'SPF' }, 422, "invalid type 'SPF'", 'rrsets[0].type'],
    ['create', ['mail'], { ...cname, typesAtName: ['A'] }, 422, coexists, 'rrsets[0].name'],
    ['create', ['192.0.2.1'], { ...absent, typesAtName: ['CNAME'] }, 422, coexists, 'rrsets[0].name'],
    ['create', ['a', 'b'], cname, 422, 'CNAME takes exactly one record', 'rrsets[0].records'],
  ])('is refused: %s %j', (kind, values, target, ...refusal) => {
    const body: Body = kind === 'remove' ? {} : { ttl: 300, records: records(...values) };
    let error: ApiError | undefined;
    try {
      decide(kind, body, target);
    } catch (thrown) {
      error = thrown as ApiError;
    }
    const fields = error?.details?.fields as { name: string }[] | undefined;
    expect([error?.status, error?.message, fields?.[0]?.name]).toEqual(refusal);
  });
});
