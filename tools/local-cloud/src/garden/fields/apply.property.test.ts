import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { equalJson, type Fields, type KubeObject } from '../kube/object.js';
import { applyConfiguration, type FieldContext } from './managed-fields.js';
import { integer, keyedBy, listOf, mapOf, objectSchema, struct, text } from './schema.js';

const schema = objectSchema({
  spec: struct({
    a: text,
    b: struct({ c: integer, d: integer }),
    labels: mapOf(text),
    list: listOf(integer),
    pools: keyedBy('name', struct({ name: text, size: integer, tags: mapOf(text) })),
  }),
});
const context: FieldContext = { schema, apiVersion: 'test/v1', nowMs: 0, resetFields: [['f:status']] };

const word = fc.constantFrom('x', 'y', 'z');
const tags = fc.dictionary(word, word, { maxKeys: 2 });
const pool = fc.record({ name: word, size: fc.nat(3), tags }, { requiredKeys: ['name'] });
const anySpec = fc.record(
  {
    a: word,
    b: fc.record({ c: fc.nat(3), d: fc.nat(3) }, { requiredKeys: [] }),
    labels: tags,
    list: fc.array(fc.nat(3), { maxLength: 3 }),
    pools: fc.uniqueArray(pool, { selector: ({ name }) => name, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const configuration = (spec: Fields): KubeObject => ({
  apiVersion: 'test/v1',
  kind: 'Test',
  metadata: { name: 'x' },
  spec,
});
const apply = (live: KubeObject | null, manager: string, spec: Fields, force = true): KubeObject =>
  applyConfiguration(live, configuration(spec), { name: manager, subresource: '' }, force, context);
/** An emptied spec may be absent: a typed server treats both alike. */
const specOf = ({ spec = {} }: KubeObject) => spec as Fields;

/** Whether a value contains everything in a configuration. Pools are compared by name, other lists as a whole. */
function says(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted) && wanted.every((item) => typeof item === 'object')) {
    return wanted.every((item: Fields) =>
      (value as Fields[] | undefined)?.some((known) => known.name === item.name && says(known, item)),
    );
  }
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) return equalJson(value, wanted);
  return Object.entries(wanted).every(([key, item]) => says((value as Fields | undefined)?.[key], item));
}

describe('server-side apply', () => {
  it('makes the object contain the configuration', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (first, second) => {
        const object = apply(apply(null, 'one', first), 'two', second);

        expect(says(specOf(object), second)).toBe(true);
      }),
    );
  });

  it('produces the last configuration if there is no other manager', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (first, second) => {
        const through = apply(apply(null, 'one', first), 'one', second);
        const straight = apply(null, 'one', second);

        expect(withoutEmpty(specOf(through))).toEqual(withoutEmpty(specOf(straight)));
        expect(sharesOf(through)).toEqual(sharesOf(straight));
      }),
    );
  });

  it('changes nothing if repeated', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (other, mine) => {
        const once = apply(apply(null, 'two', other), 'one', mine);

        expect(apply(once, 'one', mine, false)).toEqual(once);
      }),
    );
  });

  it('without force either keeps all fields of other managers or is refused', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (theirs, mine) => {
        const live = apply(null, 'two', theirs);
        let object: KubeObject;
        try {
          object = apply(live, 'one', mine, false);
        } catch (error) {
          expect(error).toMatchObject({ code: 409, details: { causes: expect.any(Array) } });
          return;
        }
        expect(says(specOf(object), theirs) && says(specOf(object), mine)).toBe(true);
      }),
    );
  });

  it('removes fields that one manager omits unless another manager owns them', () => {
    fc.assert(
      fc.property(anySpec, anySpec, (theirs, mine) => {
        const both = apply(apply(null, 'one', mine), 'two', theirs);

        const left = apply(both, 'one', {});

        expect(says(specOf(left), theirs)).toBe(true);
        expect(withoutEmpty(specOf(left))).toEqual(withoutEmpty(theirs));
      }),
    );
  });
});

const sharesOf = ({ metadata }: KubeObject) =>
  metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, fieldsV1]);

/** Without empty maps and lists, and with pools by name: an emptied container may remain. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty);
    const isKeyed = items.every((item) => typeof item === 'object');
    return isKeyed
      ? items.sort((a, b) => ((a as Fields).name as string).localeCompare((b as Fields).name as string))
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutEmpty(item)] as const);
  return Object.fromEntries(
    entries.filter(([, item]) => !(typeof item === 'object' && item !== null && Object.keys(item).length === 0)),
  );
}
