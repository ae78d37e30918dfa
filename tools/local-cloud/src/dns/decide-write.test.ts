import { describe, expect, it } from '@jest/globals';
import { decideWrite, type Target } from './decide-write.js';
import type { Rrset } from './model.js';
import type { Command } from './parse-command.js';

const records = (...values: string[]) => values.map((value) => ({ value, comment: '' }));

const aRrset = (over: Partial<Rrset> = {}): Rrset => ({
  name: 'app',
  type: 'A',
  ttl: 300,
  labels: { env: 'prod' },
  protection: { change: false },
  records: [
    { value: '192.0.2.1', comment: 'blue' },
    { value: '192.0.2.2', comment: '' },
  ],
  ...over,
});

const aTarget = (current: Rrset | null, over: Partial<Target> = {}): Target => ({
  zoneName: 'example.net',
  name: current?.name ?? 'app',
  type: current?.type ?? 'A',
  current,
  typesAtName: current === null ? [] : [current.type],
  ...over,
});

const create = (...values: string[]): Command => ({
  kind: 'create',
  ttl: 300,
  labels: {},
  records: records(...values),
});

function refusalOf(command: Command, target: Target): unknown {
  try {
    return decideWrite(command, target);
  } catch (error) {
    const { status, code, message, details } = error as {
      status: number;
      code: string;
      message: string;
      details: unknown;
    };
    return [status, code, message, (details as { fields?: { name: string }[] } | null)?.fields?.[0]?.name ?? null];
  }
}

describe('a write', () => {
  it('creates a set with the given values', () => {
    const next = decideWrite(create('192.0.2.1'), aTarget(null));

    expect(next).toEqual(aRrset({ labels: {}, records: records('192.0.2.1') }));
  });

  it.each<[string, Command, Partial<Rrset> | null]>([
    [
      'set_records replaces the records and drops their comments',
      { kind: 'set_records', records: records('192.0.2.1') },
      { records: records('192.0.2.1') },
    ],
    [
      'add_records appends',
      { kind: 'add_records', ttl: null, records: records('192.0.2.3') },
      { records: [...aRrset().records, ...records('192.0.2.3')] },
    ],
    [
      'add_records takes the TTL that the set has',
      { kind: 'add_records', ttl: 300, records: records('192.0.2.3') },
      { records: [...aRrset().records, ...records('192.0.2.3')] },
    ],
    [
      'remove_records takes records by value, whatever the comment',
      { kind: 'remove_records', records: [{ value: '192.0.2.1', comment: 'green' }] },
      { records: records('192.0.2.2') },
    ],
    [
      'remove_records of all drops the set',
      { kind: 'remove_records', records: records('192.0.2.2', '192.0.2.1') },
      null,
    ],
    ['change_ttl changes the TTL', { kind: 'change_ttl', ttl: null }, { ttl: null }],
    ['labels given replace the whole map', { kind: 'put_labels', labels: { a: 'b' } }, { labels: { a: 'b' } }],
    ['labels not given stay', { kind: 'put_labels', labels: null }, {}],
    ['delete drops the set', { kind: 'delete' }, null],
  ])('%s', (_sentence, command, change) => {
    const next = decideWrite(command, aTarget(aRrset()));

    expect(next).toEqual(change === null ? null : aRrset(change));
  });

  it('creates a missing set with its TTL on add_records', () => {
    const next = decideWrite({ kind: 'add_records', ttl: 120, records: records('192.0.2.1') }, aTarget(null));

    expect(next).toEqual(aRrset({ ttl: 120, labels: {}, records: records('192.0.2.1') }));
  });

  it.each<[string, Command, Target, unknown[]]>([
    [
      'to create what exists',
      create('192.0.2.1'),
      aTarget(aRrset()),
      [409, 'uniqueness_error', 'RRSet already exists', 'name'],
    ],
    [
      'to set what is absent',
      { kind: 'set_records', records: records('192.0.2.1') },
      aTarget(null),
      [404, 'not_found', 'rrset not found', null],
    ],
    ['to delete what is absent', { kind: 'delete' }, aTarget(null), [404, 'not_found', 'rrset not found', null]],
    [
      'with a value that is present',
      { kind: 'add_records', ttl: null, records: records('192.0.2.3', '192.0.2.2') },
      aTarget(aRrset()),
      [422, 'invalid_input', "duplicate value '192.0.2.2'", 'records[0].records[1].value'],
    ],
    [
      'with another TTL than the set has',
      { kind: 'add_records', ttl: 120, records: records('192.0.2.3') },
      aTarget(aRrset()),
      [422, 'invalid_input', 'RRSet has differing record TTLs', 'ttl'],
    ],
    [
      'to remove a value that is absent',
      { kind: 'remove_records', records: records('192.0.2.9') },
      aTarget(aRrset()),
      [422, 'invalid_input', "value '192.0.2.9' not found", 'records[0].records[0].value'],
    ],
    [
      'with a value of another type',
      create('192.0.2.1', '192.0.2.300'),
      aTarget(null),
      [422, 'invalid_input', "invalid value '192.0.2.300'", 'rrsets[0].records[1].value'],
    ],
    [
      'with a wrong value in an action',
      { kind: 'set_records', records: records('x') },
      aTarget(aRrset()),
      [422, 'invalid_input', "invalid value 'x'", 'records[0].records[0].value'],
    ],
    [
      'in upper case',
      create('192.0.2.1'),
      aTarget(null, { name: 'APP' }),
      [422, 'invalid_input', 'must be lower case', 'rrsets[0].name'],
    ],
    [
      'of an unknown type',
      { kind: 'add_records', ttl: null, records: records('x') },
      aTarget(null, { type: 'SPF' }),
      [422, 'invalid_input', "invalid type 'SPF'", 'rrsets[0].type'],
    ],
    [
      'of a CNAME beside others',
      create('mail'),
      aTarget(null, { type: 'CNAME', typesAtName: ['A'] }),
      [422, 'invalid_input', "CNAME cannot coexist with other types at 'app'", 'rrsets[0].name'],
    ],
    [
      'of others beside a CNAME',
      create('192.0.2.1'),
      aTarget(null, { typesAtName: ['CNAME'] }),
      [422, 'invalid_input', "CNAME cannot coexist with other types at 'app'", 'rrsets[0].name'],
    ],
    [
      'of two CNAMEs',
      create('a', 'b'),
      aTarget(null, { type: 'CNAME' }),
      [422, 'invalid_input', 'CNAME takes exactly one record', 'rrsets[0].records'],
    ],
    [
      'of a second CNAME',
      { kind: 'add_records', ttl: null, records: records('b') },
      aTarget(aRrset({ type: 'CNAME', records: records('a') })),
      [422, 'invalid_input', 'CNAME takes exactly one record', 'records'],
    ],
  ])('is refused %s', (_case, command, target, refusal) => {
    expect(refusalOf(command, target)).toEqual(refusal);
  });
});
