import { checkDnsAnswer, type DnsAnswer } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OWN_ACTION_ID_BASE } from '../actions/action-store.js';
import type { RrsetKey, RrsetWrite, RrsetWriteKind } from '../rrset.js';
import { effectOf, recordCountOf } from '../rrset.js';
import { decideAdmission, type OwnerQuota, type RecordQuota } from './begin-rule.js';
import { settledAnswer } from './copies.js';
import { endOfAccepted, endOfRefused } from './perform-write.js';

describe('decideAdmission', () => {
  const quota: RecordQuota = { recordsPerTeam: 12, recordsPerDemo: 7, recordsPerRrset: 5 };
  const ofTeam: OwnerQuota = { limit: 'recordsPerTeam', quota };
  const ofDemo: OwnerQuota = { limit: 'recordsPerDemo', quota };
  const names = ['a', 'b', 'c', 'd'];

  const records = fc
    .uniqueArray(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 7 })
    .map((values) => values.map((value) => ({ value: `192.0.2.${value}` })));
  const write: fc.Arbitrary<RrsetWrite> = fc.oneof(
    records.map((of) => ({ operation: 'create' as const, ttl: null, labels: {}, records: of })),
    records.map((of) => ({ operation: 'set_records' as const, records: of })),
    records.map((of) => ({ operation: 'add_records' as const, ttl: null, records: of })),
    records.map((of) => ({ operation: 'remove_records' as const, records: of })),
    fc.constant({ operation: 'change_ttl' as const, ttl: 60 }),
    fc.constant({ operation: 'delete' as const }),
  );
  const step = fc.oneof(
    fc.record({ do: fc.constant('begin' as const), name: fc.constantFrom(...names), write }),
    fc.record({ do: fc.constant('finish' as const), name: fc.constantFrom(...names), accepted: fc.boolean() }),
  );

  it('never lets an owner or a set exceed its quota, however writes interleave', () => {
    fc.assert(
      fc.property(fc.constantFrom(ofTeam, ofDemo), fc.array(step, { maxLength: 60 }), (owner, steps) => {
        const ledger = aLedger(owner);
        for (const each of steps) {
          if (each.do === 'begin') ledger.begin(each.name, each.write);
          else ledger.finish(each.name, each.accepted);
          expect(ledger.recordsOfOwner()).toBeLessThanOrEqual(quota[owner.limit]);
          expect(ledger.recordsOfLargestSet()).toBeLessThanOrEqual(quota.recordsPerRrset);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('admits up to the last record of the quota and refuses the next', () => {
    const body = effectOf(keyOf('a'), null, { operation: 'set_records', records: valuesOf(4) }, null);
    const add = (count: number, held: number, of: OwnerQuota): unknown =>
      decideAdmission({ operation: 'add_records', ttl: null, records: valuesOf(count, 100) }, { body }, held, of);

    expect(add(1, 11, ofTeam)).toEqual({ kind: 'admitted', reserve: 1, recordsMax: 5 });
    expect(add(1, 12, ofTeam)).toEqual({ kind: 'refused', limit: 'recordsPerTeam', max: 12 });
    expect(add(1, 6, ofDemo)).toEqual({ kind: 'admitted', reserve: 1, recordsMax: 5 });
    expect(add(1, 7, ofDemo)).toEqual({ kind: 'refused', limit: 'recordsPerDemo', max: 7 });
    expect(add(2, 4, ofTeam)).toEqual({ kind: 'refused', limit: 'recordsPerRrset', max: 5 });
  });

  it('lets a team that an import took past its quota shrink but not grow', () => {
    const body = effectOf(keyOf('a'), null, { operation: 'set_records', records: valuesOf(9) }, null);
    const decide = (of: RrsetWrite): string => decideAdmission(of, { body }, 40, ofTeam).kind;

    expect(decide({ operation: 'remove_records', records: valuesOf(1) })).toBe('admitted');
    expect(decide({ operation: 'set_records', records: valuesOf(8) })).toBe('admitted');
    expect(decide({ operation: 'set_records', records: valuesOf(9) })).toBe('admitted');
    expect(decide({ operation: 'change_ttl', ttl: 60 })).toBe('admitted');
    expect(decide({ operation: 'delete' })).toBe('admitted');
    expect(decide({ operation: 'add_records', ttl: null, records: valuesOf(1, 100) })).toBe('refused');
    expect(decide({ operation: 'set_records', records: valuesOf(10) })).toBe('refused');
  });

  it('reserves nothing for values that already exist, which the upstream refuses', () => {
    const body = effectOf(keyOf('a'), null, { operation: 'set_records', records: valuesOf(5) }, null);
    const again: RrsetWrite = { operation: 'add_records', ttl: null, records: valuesOf(5) };

    expect(decideAdmission(again, { body }, 12, ofTeam)).toEqual({ kind: 'admitted', reserve: 0, recordsMax: 5 });
  });

  it('reserves records for them while the upstream may have other values, because it may then accept them', () => {
    const body = effectOf(keyOf('a'), null, { operation: 'set_records', records: valuesOf(2) }, null);
    const again: RrsetWrite = { operation: 'add_records', ttl: null, records: valuesOf(3) };
    const decide = (held: number): unknown => decideAdmission(again, { body, isInDoubt: true }, held, ofTeam);

    expect(decide(9)).toEqual({ kind: 'admitted', reserve: 3, recordsMax: 5 });
    expect(decide(10)).toEqual({ kind: 'refused', limit: 'recordsPerTeam', max: 12 });
  });

  /** A model of the ledger around the rule: one write at a time per set, reservations until it ends. */
  function aLedger(owner: OwnerQuota) {
    const bodies = new Map<string, string>();
    const pending = new Map<string, { write: RrsetWrite; reserve: number }>();
    const counts = (): number[] => [...bodies.values()].map(recordCountOf);
    const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
    return {
      recordsOfOwner: () => sum(counts()),
      recordsOfLargestSet: () => Math.max(0, ...counts()),
      begin(name: string, of: RrsetWrite) {
        if (pending.has(name)) return;
        const reserved = sum([...pending.values()].map(({ reserve }) => reserve));
        const admission = decideAdmission(of, { body: bodies.get(name) ?? null }, sum(counts()) + reserved, owner);
        if (admission.kind === 'admitted') pending.set(name, { write: of, reserve: admission.reserve });
      },
      finish(name: string, accepted: boolean) {
        const ended = pending.get(name);
        pending.delete(name);
        if (ended === undefined || !accepted) return;
        const left = effectOf(keyOf(name), bodies.get(name) ?? null, ended.write, null);
        if (left === null) bodies.delete(name);
        else bodies.set(name, left);
      },
    };
  }

  const keyOf = (name: string): RrsetKey => ({ zoneId: 1, name, type: 'A' });
  const valuesOf = (count: number, from = 0) => Array.from({ length: count }, (_, at) => ({ value: `v${from + at}` }));
});

describe('settledAnswer', () => {
  const key = { zoneId: 7001, name: 'api.acme', type: 'A' };
  const found = `{"id":"api.acme/A","name":"api.acme","type":"A","ttl":null,"labels":{},"protection":{"change":false},"records":[{"value":"192.0.2.1","comment":""}],"zone":7001}`;
  const at = new Date('2026-01-02T03:04:05.678Z');

  const cases: [RrsetWriteKind, string | null, number, DnsAnswer, string | null][] = [
    ['create', found, 201, 'created', 'create_rrset'],
    ['set_records', found, 201, 'action', 'set_rrset_records'],
    ['add_records', found, 201, 'action', 'add_rrset_records'],
    ['remove_records', null, 201, 'action', 'remove_rrset_records'],
    ['change_ttl', found, 201, 'action', 'change_rrset_ttl'],
    ['delete', null, 201, 'action', 'delete_rrset'],
    ['update', found, 200, 'rrset', null],
  ];

  it.each(cases)("has the upstream's shape for %s", (operation, body, status, shape, command) => {
    const answer = settledAnswer({ entryId: 12, key, operation, found: body }, at);

    const parsed = JSON.parse(answer.body);
    checkDnsAnswer[shape](parsed);
    expect(answer.status).toBe(status);
    expect(parsed.rrset).toEqual(shape === 'action' ? undefined : JSON.parse(found));
    if (command === null) expect(parsed.action).toBeUndefined();
    else expect(parsed.action).toMatchObject({ command, status: 'success', progress: 100, error: null });
  });

  it("has an action id outside the upstream's range and safe in every client", () => {
    const { body } = settledAnswer({ entryId: 12, key, operation: 'delete', found: null }, at);

    const { id } = JSON.parse(body).action;
    expect(id).toBe(OWN_ACTION_ID_BASE + 12);
    expect(Number.isSafeInteger(id)).toBe(true);
  });
});

describe('the end of a write', () => {
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
      ['a value exists', add(null, two), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.2'"],
      ['another TTL stands', add(300, two), ofOne, 422, 'invalid_input', 'RRSet has differing record TTLs'],
      ['a TTL cannot be changed', changeTtl(600), ofOne, 422, 'invalid_input', 'the rrset cannot be changed'],
    ])('that the mirror contradicts has the set read again: %s', (_what, write, mirrored, status, code, message) => {
      expect(isReadAgain(write, mirrored, status, code, message)).toBe(true);
    });

    it.each<[string, RrsetWrite, string | null, number, string, string]>([
      ['a set is missing', changeTtl(600), null, 404, 'not_found', 'rrset not found'],
      ['a set exists', create, ofOne, 409, 'uniqueness_error', 'RRSet already exists'],
      ['a set is protected', replace, setWith([one], { change: true }), 423, 'protected', 'rrset is protected'],
      ['a value is missing', remove(one, two), ofOne, 422, 'invalid_input', "value '192.0.2.2' not found"],
      ['a value exists', add(null, one), ofOne, 422, 'invalid_input', "duplicate value '192.0.2.1'"],
      ['a value is invalid', add(null, two), ofOne, 422, 'invalid_input', "invalid value '192.0.2.2'"],
      ['another TTL stands', add(600, two), ofOne, 422, 'invalid_input', 'RRSet has differing record TTLs'],
      ['a TTL is out of range', changeTtl(30), ofOne, 422, 'invalid_input', 'ttl must be at least 60'],
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
});
