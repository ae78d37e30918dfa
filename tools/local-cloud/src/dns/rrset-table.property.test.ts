import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Rrset } from './model.js';
import { RrsetTable } from './rrset-table.js';

const names = ['@', 'a', 'b', 'x.a', 'y.a', 'z.y.a', '*', '*.a'];

const step = fc.record({
  name: fc.constantFrom(...names),
  type: fc.constantFrom('A', 'TXT'),
  count: fc.integer({ min: 0, max: 3 }),
});

const aRrset = (name: string, type: string, count: number): Rrset => ({
  name,
  type,
  ttl: null,
  labels: {},
  protection: { change: false },
  records: Array.from({ length: count }, (_, index) => ({ value: String(index), comment: '' })),
});

describe('the table of a zone', () => {
  it('keeps all indexes consistent under any sequence of changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const table = new RrsetTable();
        const model = new Map<string, Rrset>();
        for (const { name, type, count } of steps) {
          const next = count === 0 ? null : aRrset(name, type, count);
          table.replace(name, type, next);
          if (next === null) model.delete(`${name}/${type}`);
          else model.set(`${name}/${type}`, next);

          const held = [...model.values()];
          const ids = table.sorted().map((rrset) => `${rrset.name}/${rrset.type}`);
          expect(ids).toEqual([...model.keys()].sort());
          expect(table.recordCount).toBe(held.reduce((sum, rrset) => sum + rrset.records.length, 0));
          for (const each of names) {
            const atOrBelow = held.some((rrset) => rrset.name === each || rrset.name.endsWith(`.${each}`));
            expect(table.exists(each)).toBe(each === '@' || atOrBelow);
            expect([...table.typesAt(each)].sort()).toEqual(
              held
                .filter((rrset) => rrset.name === each)
                .map((rrset) => rrset.type)
                .sort(),
            );
          }
        }
      }),
    );
  });
});
