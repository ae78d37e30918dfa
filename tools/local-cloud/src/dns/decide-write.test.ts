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

  it.each<[string, string, Body, Partial<Rrset> | null]>([
    [
      'replaces the records and drops their comments',
      'set_records',
      { records: records('192.0.2.1') },
      { records: records('192.0.2.1') },
    ],
    [
      'appends',
      'add_records',
      { ttl: 300, records: records('192.0.2.3') },
      { records: [...held.records, ...records('192.0.2.3')] },
    ],
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

  const exists: Target = present;
  const cname: Target = { ...absent, type: 'CNAME' };
  it.each<[string, Body, Target, [status: number, message: string, field: string | undefined]]>([
    ['create', { records: records('192.0.2.9') }, exists, [409, 'RRSet already exists', 'name']],
    ['set_records', { records: records('192.0.2.9') }, absent, [404, 'rrset not found', undefined]],
    ['remove', {}, absent, [404, 'rrset not found', undefined]],
    [
      'add_records',
      { records: records('192.0.2.3', '192.0.2.2') },
      exists,
      [422, "duplicate value '192.0.2.2'", 'records[0].records[1].value'],
    ],
    [
      'create',
      { records: records('192.0.2.3', '192.0.2.3') },
      absent,
      [422, "duplicate value '192.0.2.3'", 'rrsets[0].records[1].value'],
    ],
    [
      'add_records',
      { ttl: 120, records: records('192.0.2.3') },
      exists,
      [422, 'RRSet has differing record TTLs', 'ttl'],
    ],
    [
      'remove_records',
      { records: records('192.0.2.9') },
      exists,
      [422, "value '192.0.2.9' not found", 'records[0].records[0].value'],
    ],
    ['set_records', { records: records('x') }, exists, [422, "invalid value 'x'", 'records[0].records[0].value']],
    [
      'create',
      { records: records('192.0.2.1') },
      { ...absent, name: 'APP' },
      [422, "invalid name 'APP'", 'rrsets[0].name'],
    ],
    ['create', { records: records('x') }, { ...absent, type: 'SPF' }, [422, "invalid type 'SPF'", 'rrsets[0].type']],
    [
      'create',
      { records: records('mail') },
      { ...cname, typesAtName: ['A'] },
      [422, "CNAME cannot coexist with other types at 'app'", 'rrsets[0].name'],
    ],
    [
      'create',
      { records: records('192.0.2.1') },
      { ...absent, typesAtName: ['CNAME'] },
      [422, "CNAME cannot coexist with other types at 'app'", 'rrsets[0].name'],
    ],
    ['create', { records: records('a', 'b') }, cname, [422, 'CNAME takes exactly one record', 'rrsets[0].records']],
  ])('is refused: %s %j', (kind, body, target, refusal) => {
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
