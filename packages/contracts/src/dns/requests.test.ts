import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidBody } from '../parser-for.js';
import {
  parseAddRecords,
  parseChangeTtl,
  parseCreateDemo,
  parseCreateRrset,
  parseExtendDemo,
  parseRecordsBody,
  parseUpdateRrset,
} from './requests.js';

const records = [{ value: '192.0.2.1' }];
const aCreation = (change: object = {}) => ({ name: 'api.acme', type: 'A', records, ...change });
const without = (member: string) => Object.fromEntries(Object.entries(aCreation()).filter(([name]) => name !== member));

function namesOf(parse: (body: unknown) => unknown, body: unknown): string[] {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidBody) return error.fields.map((field) => field.name);
    throw error;
  }
  return [];
}

describe('parseCreateRrset', () => {
  it.each([
    ['name, type and records', aCreation()],
    ['a ttl', aCreation({ ttl: 300 })],
    ['a ttl of 0, which the upstream checks', aCreation({ ttl: 0 })],
    ['a ttl beyond 31 bits, which the upstream checks', aCreation({ ttl: 2 ** 31 })],
    ['the same value twice, which the upstream checks', aCreation({ records: [{ value: 'x' }, { value: 'x' }] })],
    ['a null ttl', aCreation({ ttl: null })],
    ['labels', aCreation({ labels: { env: 'prod', empty: '' } })],
    ['empty labels', aCreation({ labels: {} })],
    ['null labels', aCreation({ labels: null })],
    ['a comment', aCreation({ records: [{ value: 'x', comment: 'blue' }] })],
    ['an empty comment', aCreation({ records: [{ value: 'x', comment: '' }] })],
    ['a null comment', aCreation({ records: [{ value: 'x', comment: null }] })],
    ['unknown fields', aCreation({ geo: { eu: 1 }, records: [{ value: 'x', weight: 3 }] })],
    ['a value of 4,096 characters', aCreation({ records: [{ value: 'x'.repeat(4_096) }] })],
    ['4,096 characters beyond 16 bits', aCreation({ records: [{ value: '😀'.repeat(4_096) }] })],
    ['values that differ in case only', aCreation({ records: [{ value: 'a' }, { value: 'A' }] })],
  ])('accepts %s', (_what, body) => {
    const before = structuredClone(body);

    expect(parseCreateRrset(body)).toBe(body);
    expect(body).toEqual(before);
  });

  it.each([
    ['no name', without('name'), ['name']],
    ['no type', without('type'), ['type']],
    ['no records', without('records'), ['records']],
    ['nothing at all', {}, ['name', 'type', 'records']],
    ['a name that is not a string', aCreation({ name: 1 }), ['name']],
    ['a null name', aCreation({ name: null }), ['name']],
    ['a type that is not a string', aCreation({ type: ['A'] }), ['type']],
    ['empty records', aCreation({ records: [] }), ['records']],
    ['null records', aCreation({ records: null }), ['records']],
    ['records that are not an array', aCreation({ records: { value: 'x' } }), ['records']],
    ['a record that is text', aCreation({ records: ['192.0.2.1'] }), ['records[0]']],
    ['a record without a value', aCreation({ records: [...records, { comment: 'x' }] }), ['records[1].value']],
    ['a null value', aCreation({ records: [{ value: null }] }), ['records[0].value']],
    ['a value that is a number', aCreation({ records: [{ value: 1 }] }), ['records[0].value']],
    ['an empty value', aCreation({ records: [{ value: '' }] }), ['records[0].value']],
    ['a value of 4,097 characters', aCreation({ records: [{ value: 'x'.repeat(4_097) }] }), ['records[0].value']],
    ['a comment that is not a string', aCreation({ records: [{ value: 'x', comment: 1 }] }), ['records[0].comment']],
    ['a ttl that is text', aCreation({ ttl: '300' }), ['ttl']],
    ['an empty text for a ttl', aCreation({ ttl: '' }), ['ttl']],
    ['a ttl with a fraction', aCreation({ ttl: 1.5 }), ['ttl']],
    ['a negative ttl', aCreation({ ttl: -1 }), ['ttl']],
    ['an infinite ttl', JSON.parse(JSON.stringify(aCreation()).replace('{', '{"ttl":1e999,')), ['ttl']],
    ['a ttl of true', aCreation({ ttl: true }), ['ttl']],
    ['labels that are an array', aCreation({ labels: [] }), ['labels']],
    ['a label that is a number', aCreation({ labels: { env: 1 } }), ['labels.env']],
    ['a null label', aCreation({ labels: { env: null } }), ['labels.env']],
  ])('rejects %s and names the field', (_what, body, names) => {
    expect(namesOf(parseCreateRrset, body)).toEqual(names.length === 1 ? expect.arrayContaining(names) : names);
  });

  it.each([null, [], 'text', 1, true, undefined])('rejects %j', (body) => {
    expect(namesOf(parseCreateRrset, body)).toEqual(['']);
  });
});

describe('the parsers of the other bodies', () => {
  it.each([
    ['set_records and remove_records', parseRecordsBody, { records, later: true }],
    ['add_records without a ttl', parseAddRecords, { records }],
    ['add_records with a ttl', parseAddRecords, { records, ttl: 120 }],
    ['add_records with a null ttl', parseAddRecords, { records, ttl: null }],
    ['change_ttl', parseChangeTtl, { ttl: 600 }],
    ['change_ttl to the zone’s default', parseChangeTtl, { ttl: null }],
    ['an update of nothing', parseUpdateRrset, {}],
    ['an update of labels', parseUpdateRrset, { labels: { env: 'prod' } }],
    ['an update with null labels', parseUpdateRrset, { labels: null }],
    ['an update with records, which the upstream refuses itself', parseUpdateRrset, { records: 'anything' }],
  ])('accept unchanged: %s', (_what, parse: (body: unknown) => unknown, body) => {
    expect(parse(body)).toBe(body);
  });

  it.each([
    ['no records', parseRecordsBody, {}, ['records']],
    ['empty records', parseRecordsBody, { records: [] }, ['records']],
    ['a ttl as text beside records', parseAddRecords, { records, ttl: '1' }, ['ttl']],
    ['no ttl to change to', parseChangeTtl, {}, ['ttl']],
    ['a ttl as text', parseChangeTtl, { ttl: '600' }, ['ttl']],
    ['a label that is not a string', parseUpdateRrset, { labels: { env: 1 } }, ['labels.env']],
  ])('reject %s', (_what, parse: (body: unknown) => unknown, body, names) => {
    expect(namesOf(parse, body)).toEqual(names);
  });
});

it('every parser returns the body itself or rejects it with a named field', () => {
  const parsers = [parseCreateRrset, parseRecordsBody, parseAddRecords, parseChangeTtl, parseUpdateRrset];
  const member = fc.constantFrom('name', 'type', 'ttl', 'labels', 'records', 'value', 'comment', '__proto__', 'other');
  const anyBody = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, 0, -1, 300, 2 ** 53, 'A', '', 'api.acme'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(member, tie('value'), { maxKeys: 5 }),
    ),
  })).value;
  fc.assert(
    fc.property(fc.constantFrom(...parsers), anyBody, (parse: (body: unknown) => unknown, body) => {
      try {
        expect(parse(body)).toBe(body);
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidBody);
        expect((error as InvalidBody).fields.length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 500 },
  );
});

describe('the parsers of demo bodies', () => {
  it.each([
    ['nothing', {}],
    ['a name', { name: 'My Shop' }],
    ['nulls, which count as absent', { name: null, ttl: null, course_code: null }],
    ['the shortest ttl', { ttl: 300 }],
    ['the longest ttl', { ttl: 604_800 }],
    ['unknown fields', { region: 'eu' }],
  ])('accept %s', (_what, body) => {
    expect(parseCreateDemo(body)).toBe(body);
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 7 }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: 'a\u001b[2Jb' }],
    ['ttl', { ttl: 299 }],
    ['ttl', { ttl: 604_801 }],
    ['ttl', { ttl: 300.5 }],
    ['ttl', { ttl: '3600' }],
    ['course_code', { course_code: ['WORKSHOP'] }],
  ])('reject the %s of %j', (field, body) => {
    expect(namesOf(parseCreateDemo, body)).toEqual([field]);
  });

  it.each([{}, { ttl: null }, { ttl: 299 }, { ttl: 604_801 }, { ttl: 1e300 }, { ttl: '300' }])(
    'reject the extension %j',
    (body) => {
      expect(namesOf(parseExtendDemo, body)).toEqual(['ttl']);
    },
  );
});
