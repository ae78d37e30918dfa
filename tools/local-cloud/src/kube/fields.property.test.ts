import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applied } from './fields.js';
import { equalJson, type Fields, isFields, type KubeObject } from './object.js';

const word = fc.constantFrom('x', 'y', 'z');
const tags = fc.dictionary(word, word, { maxKeys: 2 });
const pool = fc.record({ name: word, maximum: fc.nat(3), labels: tags }, { requiredKeys: ['name'] });
const workers = fc.uniqueArray(pool, { selector: ({ name }) => name, maxLength: 3 });
const anySpec = fc.record(
  { region: word, hibernation: fc.record({ enabled: fc.boolean() }), provider: fc.record({ type: word, workers }) },
  { requiredKeys: [] },
);

const apply = (live: KubeObject | null, manager: string, spec: Fields, force = true): KubeObject => {
  const declared = { apiVersion: 'test/v1', kind: 'Test', metadata: { name: 'x' }, spec };
  return applied(live, declared, { name: manager, at: '2026-01-01T00:00:00Z' }, force);
};

/** Whether a value has everything of another one. Pools are compared by name. */
function has(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    const items = (value ?? []) as Fields[];
    return wanted.every((item: Fields) => items.some((each) => each.name === item.name && has(each, item)));
  }
  if (!isFields(wanted)) return equalJson(value, wanted);
  return Object.entries(wanted).every(([key, item]) => has((value as Fields | undefined)?.[key] ?? {}, item));
}

describe('an apply', () => {
  it('makes the object have what it declares, and changes nothing if it is repeated', () => {
    fc.assert(
      fc.property(anySpec, anySpec, anySpec, (theirs, first, second) => {
        const object = apply(apply(apply(null, 'two', theirs), 'one', first), 'one', second);

        expect(has(object.spec, second)).toBe(true);
        expect(apply(object, 'one', second, false)).toEqual(object);
      }),
    );
  });

  it('without force keeps what others declare, or is refused', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (theirs, mine) => {
        const live = apply(null, 'two', theirs);
        try {
          expect(has(apply(live, 'one', mine, false).spec, theirs)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ code: 409, details: { causes: expect.any(Array) } });
        }
      }),
    );
  });

  it('removes what it leaves out, unless others declare it', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (theirs, mine) => {
        const both = apply(apply(null, 'one', mine), 'two', theirs);

        const left = apply(both, 'one', {});

        expect(has(left.spec, theirs)).toBe(true);
        expect(has(theirs, left.spec)).toBe(true);
      }),
    );
  });
});
