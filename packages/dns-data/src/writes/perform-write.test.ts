import { describe, expect, it } from '@jest/globals';
import { endOfAccepted, endOfRefused } from './perform-write.js';
import type { RrsetKey, RrsetWrite } from './rrset-write.js';

const key: RrsetKey = { zoneId: 7001, name: 'www.acme', type: 'A' };
const one = { value: '192.0.2.1' };
const two = { value: '192.0.2.2' };

const setWith = (values: readonly { value: string }[], { ttl = 300 as number | null, change = false } = {}): string =>
  JSON.stringify({ ttl, labels: {}, protection: { change }, records: values, zone: 7001 });
const ofOne = setWith([one]);

const add = (ttl: number | null, ...records: (typeof one)[]): RrsetWrite => ({
  operation: 'add_records',
  ttl,
  records,
});
const remove = (...records: (typeof one)[]): RrsetWrite => ({ operation: 'remove_records', records });
const changeTtl = (ttl: number | null): RrsetWrite => ({ operation: 'change_ttl', ttl });
const create: RrsetWrite = { operation: 'create', ttl: null, labels: {}, records: [one] };
const replace: RrsetWrite = { operation: 'set_records', records: [two] };
const deletion: RrsetWrite = { operation: 'delete' };

describe('a refusal', () => {
  const isReadAgain = (write: RrsetWrite, mirrored: string | null, status: number, code: string, message: string) =>
    endOfRefused(write, mirrored, { status, code, body: JSON.stringify({ error: { code, message } }) }).recheck;

  it.each<[string, RrsetWrite, string | null, number, string, string]>([
    ['a set is missing', changeTtl(600), ofOne, 404, 'not_found', 'rrset not found'],
    ['a set exists', create, null, 409, 'uniqueness_error', 'RRSet already exists'],
    ['a set is protected', replace, ofOne, 423, 'protected', 'rrset is protected'],
    ['a value is missing', remove(one), ofOne, 422, 'invalid_input', "value '192.0.2.1' not found"],
    ['a value of a set is missing', remove(one), null, 422, 'invalid_input', "value '192.0.2.1' not found"],
    ['a value exists', add(null, two), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.2'"],
    ['another TTL stands', add(300, two), ofOne, 422, 'invalid_input', 'RRSet has differing record TTLs'],
    ['a set with another TTL exists', add(120, two), null, 422, 'invalid_input', 'RRSet has differing record TTLs'],
    ['a TTL cannot be changed', changeTtl(600), ofOne, 422, 'invalid_input', 'the rrset cannot be changed'],
    ['a set cannot be deleted', deletion, ofOne, 422, 'invalid_input', 'the rrset cannot be deleted'],
  ])('that the mirror contradicts has the set read again: %s', (_what, write, mirrored, status, code, message) => {
    expect(isReadAgain(write, mirrored, status, code, message)).toBe(true);
  });

  it.each<[string, RrsetWrite, string | null, number, string, string]>([
    ['a set is missing', changeTtl(600), null, 404, 'not_found', 'rrset not found'],
    ['a set exists', create, ofOne, 409, 'uniqueness_error', 'RRSet already exists'],
    ['a set is protected', replace, setWith([one], { change: true }), 423, 'protected', 'rrset is protected'],
    ['a value is missing', remove(one, two), ofOne, 422, 'invalid_input', "value '192.0.2.2' not found"],
    ['a value is removed twice', remove(one, one), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.1'"],
    ['a value exists', add(null, one), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.1'"],
    ['a value is added twice', add(null, two, two), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.2'"],
    ['a value is invalid', add(null, two), ofOne, 422, 'invalid_input', "invalid value '192.0.2.2'"],
    ['another TTL stands', add(600, two), ofOne, 422, 'invalid_input', 'RRSet has differing record TTLs'],
    [
      'the default TTL stands',
      add(300, two),
      setWith([one], { ttl: null }),
      422,
      'invalid_input',
      'RRSet has differing record TTLs',
    ],
    ['a TTL is out of range', changeTtl(30), ofOne, 422, 'invalid_input', 'ttl must be at least 60'],
    ['the TTL of new records is out of range', add(30, two), null, 422, 'invalid_input', 'ttl must be at least 60'],
    ['a value is invalid in a new list', replace, ofOne, 422, 'invalid_input', "invalid value '192.0.2.2'"],
    ['another action runs', replace, ofOne, 423, 'locked', 'another action runs'],
    ['the upstream forbids it', replace, ofOne, 403, 'forbidden', 'not allowed'],
  ])('that the mirror or the request explains has not: %s', (_what, write, mirrored, status, code, message) => {
    expect(isReadAgain(write, mirrored, status, code, message)).toBe(false);
  });
});

describe('an accepted write', () => {
  const action = { id: 880001, status: 'running' };
  const isReadAgain = (write: RrsetWrite, mirrored: string | null) =>
    endOfAccepted(key, write, mirrored, { status: 201, body: JSON.stringify({ action }) })?.recheck;

  it.each<[string, RrsetWrite, string | null]>([
    ['records are added under another TTL', add(600, two), ofOne],
    ['a value is added that exists', add(null, one), ofOne],
    ['a value is removed that is missing', remove(two), ofOne],
    ['the TTL of a missing set changes', changeTtl(600), null],
    ['a missing set is deleted', deletion, null],
  ])('that the mirror contradicts has the set read again: %s', (_what, write, mirrored) => {
    expect(isReadAgain(write, mirrored)).toBe(true);
  });

  it.each<[string, RrsetWrite, string | null]>([
    ['records are added under the same TTL', add(300, two), ofOne],
    ['records are added under a TTL to a set with the default one', add(3_600, two), setWith([one], { ttl: null })],
    ['a set is made by adding to it', add(600, two), null],
    ['a value is removed', remove(one), ofOne],
    ['a TTL changes', changeTtl(600), ofOne],
  ])('that fits the mirror has not: %s', (_what, write, mirrored) => {
    expect(isReadAgain(write, mirrored)).toBe(false);
  });
});
