import { describe, expect, it } from '@jest/globals';
import { type ClusterRoute, clusterRoutes } from '../src/cluster/routes.js';
import { type DnsRoute, dnsRoutes } from '../src/dns/routes.js';
import { keywordsWithSentence, placeOf } from '../src/field-messages.js';
import { type InvalidField, parserFor, strictParserFor } from '../src/parser-for.js';
import { textRules } from '../src/text-rules.js';
import { refusedFields, type BodySchema as Schema } from './refused-fields.js';

type Path = readonly (string | number)[];
/** A wrong value, and where the refusal points relative to it. */
interface Wrong {
  readonly keyword: string;
  readonly value: unknown;
  readonly at?: string;
}

const annotations = ['description', 'default', 'examples', 'format', 'readOnly', 'writeOnly', 'title'];
const structure = ['properties', 'items', 'anyOf'];

const textsToTry = ['\u202e', '!', '@', ' ', 'Ä', ''];
/** Wrong in no other way, as far as there is such a text. */
function notMatching({ pattern = '', minLength = 0 }: Schema): string {
  const regex = new RegExp(pattern, 'u');
  const texts = textsToTry.map((text) => text.repeat(Math.max(1, minLength)));
  return texts.find((text) => !regex.test(text)) as string;
}

const valuesToTry = ['x', 1.5, {}, [], 7, true];
const otherType = (types: readonly string[]): unknown =>
  valuesToTry.find((value) => !types.some((type) => isOf(type, value)));
function isOf(type: string, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

const numbered = (count: number): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, 'x']));

/** Values that fail one keyword of the schema. */
const wrongOf: Readonly<Record<string, (schema: Schema) => readonly Omit<Wrong, 'keyword'>[]>> = {
  type: ({ type = [] }) => {
    const value = otherType([type].flat());
    return value === undefined ? [] : [{ value }];
  },
  enum: () => [{ value: 'none of them' }],
  pattern: (schema) => [{ value: notMatching(schema) }],
  minLength: () => [{ value: '' }],
  // Of very large bodies only the first error is looked for.
  maxLength: ({ maxLength = 0 }) => (maxLength > 60_000 ? [] : [{ value: 'a'.repeat(maxLength + 1) }]),
  minimum: ({ minimum = 0 }) => [{ value: minimum - 1 }],
  maximum: ({ maximum = 0 }) => [{ value: maximum + 1 }],
  minItems: () => [{ value: [] }],
  maxItems: ({ maxItems = 0 }) => [{ value: Array.from({ length: maxItems + 1 }, (_, index) => index) }],
  uniqueItems: ({ items }) => [{ value: Array(2).fill(items?.enum?.[0] ?? 'a') }],
  maxProperties: ({ maxProperties = 0 }) => [{ value: numbered(maxProperties + 1) }],
  propertyNames: ({ propertyNames }) => [
    { value: { ['a'.repeat((propertyNames?.maxLength ?? 0) + 1)]: 'x' } },
    ...(propertyNames?.pattern === undefined ? [] : [{ value: { [notMatching(propertyNames)]: 'x' } }]),
  ],
  required: ({ required = [] }) => required.map((name) => ({ value: {}, at: `/${name}` })),
  additionalProperties: ({ additionalProperties: others }) =>
    others === false ? [{ value: { unknown: 1 }, at: '/unknown' }] : [],
};

interface Case {
  readonly keyword: string;
  readonly pointer: string;
  readonly body: unknown;
  readonly schema: Schema;
}

const bodyWith = (path: Path, value: unknown): unknown =>
  path.reduceRight<unknown>((inner, part) => (part === 0 ? [inner] : { [part]: inner }), value);

function casesOf(whole: Schema, schema: Schema, path: Path = []): Case[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => casesOf(one, one, path));
  const pointer = path.map((part) => `/${String(part).replaceAll('/', '~1')}`).join('');
  const own = Object.keys(schema).flatMap((keyword) =>
    (wrongOf[keyword]?.(schema) ?? []).map(({ value, at = '' }) => ({
      keyword,
      pointer: pointer + at,
      body: bodyWith(path, value),
      schema: whole,
    })),
  );
  const members = Object.entries(schema.properties ?? {}).flatMap(([name, one]) =>
    casesOf(whole, one, [...path, name]),
  );
  const { items, additionalProperties: others } = schema;
  return [
    ...own,
    ...members,
    ...(items === undefined ? [] : casesOf(whole, items, [...path, 0])),
    ...(typeof others === 'object' ? casesOf(whole, others, [...path, 'member']) : []),
  ];
}

function keywordsOf(schema: Schema): string[] {
  const { properties = {}, items, additionalProperties: others, anyOf = [], propertyNames } = schema;
  const inner = [
    ...Object.values(properties),
    ...anyOf,
    items,
    propertyNames,
    typeof others === 'object' ? others : null,
  ];
  return [...Object.keys(schema), ...inner.flatMap((one) => (one == null ? [] : keywordsOf(one)))];
}

const parsers = new Map<Schema, (body: unknown) => unknown>();

function fieldsOf({ schema, body }: Pick<Case, 'schema' | 'body'>): readonly InvalidField[] {
  const parse = parsers.get(schema) ?? parserFor<unknown>(schema);
  parsers.set(schema, parse);
  return refusedFields(parse, body);
}

const wordsOfTheValidator =
  /must NOT|must match|pattern|must be (object|array|string|integer|number|boolean|null)\b|,null|schema|equal to|propert(y|ies)|\bundefined\b|[\^\\]|\[[a-z]|\(\?/;
/** Such a sentence says what the field must be, that it is needed, or what to do with it. */
const saysWhatToDo = /^(must .+|is required|is not a known field: .+|has a member whose name must .+)$/;

const routes: readonly (DnsRoute | ClusterRoute)[] = [...dnsRoutes, ...clusterRoutes];
const bodies = routes.flatMap(({ operationId, body }) =>
  body === undefined ? [] : ([[operationId, body as Schema]] as const),
);

describe('the refusal of a wrong body of', () => {
  it.each(bodies)(
    '%s says at each field what to do, once and not in the words of the validator',
    (_operation, schema) => {
      const cases = casesOf(schema, schema);

      expect(cases.length).toBeGreaterThan(0);
      for (const wrong of cases) {
        const fields = fieldsOf(wrong);
        const pointers = fields.map(({ pointer }) => pointer);
        expect({ ...wrong, pointers }).toMatchObject({ pointers: expect.arrayContaining([wrong.pointer]) });
        expect(new Set(pointers).size).toBe(pointers.length);
        for (const { message, name, pointer } of fields) {
          expect(message).toMatch(saysWhatToDo);
          expect(message).not.toMatch(wordsOfTheValidator);
          expect(message).not.toMatch(/another form|\.$/);
          expect(message.length).toBeLessThan(200);
          expect(name).toBe(placeOf(pointer));
        }
      }
    },
  );

  it.each(bodies)(
    '%s can be for no keyword without a sentence and a wrong value in this test',
    (_operation, schema) => {
      const known = [...keywordsWithSentence.filter((keyword) => keyword in wrongOf), ...annotations, ...structure];

      expect(keywordsOf(schema).filter((keyword) => !known.includes(keyword))).toEqual([]);
    },
  );
});

describe('a rule of texts', () => {
  it.each(Object.entries(textRules))('%s says what a text must be', (_name, { must }) => {
    expect(must).toMatch(/^must /);
    expect(must).not.toMatch(wordsOfTheValidator);
  });
});

describe('a tolerant parser', () => {
  const parse = parserFor<{ a: number }>({
    type: 'object',
    required: ['a'],
    properties: {
      a: { type: 'integer' },
      list: { type: 'array', items: { type: 'object', required: ['b'], properties: { b: { type: 'string' } } } },
      few: { type: 'array', maxItems: 2, items: { type: 'string' } },
      map: { type: 'object', additionalProperties: { type: 'string' } },
    },
  });
  const refused = (body: unknown) => refusedFields(parse, body);

  it.each([
    ['a missing field', {}, ['a']],
    ['a missing field of an item', { a: 1, list: [{ b: 'x' }, {}] }, ['list[1].b']],
    ['a member of a map', { a: 1, map: { 'x/y~z': 1 } }, ['map.x/y~z']],
    ['the body itself, with no name', 'text', ['']],
    ['the first error only, of many elements', { a: 1, list: Array(4_001).fill({}) }, ['list[0].b']],
    ['the first error only, of much text', { a: 1, list: [{}, {}], text: 'x'.repeat(65_537) }, ['list[0].b']],
    ['the list only, when it is too long', { a: 1, map: 3, few: Array(3_000).fill({}) }, ['few']],
  ])('names the place of %s', (_what, body, names) => {
    expect(refused(body).map(({ name }) => name)).toEqual(names);
  });

  it('says "body" when the body as a whole is wrong, and never quotes the input', () => {
    expect(() => parse(7)).toThrow('body must be an object');
    expect(JSON.stringify(refused({ a: 'secret-value', list: 'secret-value' }))).not.toContain('secret-value');
  });

  it('bounds what it reports', () => {
    expect(refused({ a: 1, list: Array.from({ length: 3_000 }, () => ({})) })).toHaveLength(20);
    expect(refused({ a: 1, map: { ['x'.repeat(10_000)]: 1 } })[0]?.pointer).toHaveLength(256);
  });
});

describe('a strict parser', () => {
  const parse = strictParserFor<{ spec: { size: number; kind: string } }>({
    type: 'object',
    additionalProperties: false,
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        additionalProperties: false,
        properties: { size: { type: 'integer', default: 3 }, kind: { enum: ['small', 'large'], default: 'small' } },
      },
    },
  });

  it('names an unknown field, and the permitted values', () => {
    expect(refusedFields(parse, { spec: { 'a/b~c': 1 } })).toEqual([
      {
        name: 'spec.a/b~c',
        pointer: '/spec/a~1b~0c',
        message: 'is not a known field: check its spelling, or leave it out',
      },
    ]);
    expect(refusedFields(parse, { spec: { kind: 'huge' } })).toEqual([
      { name: 'spec.kind', pointer: '/spec/kind', message: 'must be one of small, large' },
    ]);
  });
});
