import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { effectOf, recordCountOf } from '../mirror/rrset-body.js';
import { decideAdmission, type OwnerQuota, type RecordQuota } from './begin-rule.js';
import type { RrsetKey, RrsetWrite } from './rrset-write.js';

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

describe('decideAdmission', () => {
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
      { numRuns: 500 },
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
