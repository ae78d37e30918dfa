import { describe, expect, it } from '@jest/globals';
import { InvalidBody, parserFor, strictParserFor } from './parser-for.js';

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

function refusal(body: unknown): InvalidBody {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidBody) return error;
    throw error;
  }
  throw new Error('The body was accepted');
}

describe('parserFor', () => {
  it('returns the same object, including unknown fields', () => {
    const body = { a: 1, later: { deep: [1] } };

    expect(parse(body)).toBe(body);
    expect(body).toEqual({ a: 1, later: { deep: [1] } });
  });

  it('does not convert strings to numbers', () => {
    expect(refusal({ a: '1' }).fields).toEqual([{ name: 'a', pointer: '/a', message: 'must be a whole number' }]);
  });

  it.each([
    ['a missing field', {}, ['a']],
    ['a missing field of an item', { a: 1, list: [{ b: 'x' }, {}] }, ['list[1].b']],
    ['a wrong field of an item', { a: 1, list: [{ b: 2 }] }, ['list[0].b']],
    ['a wrong item', { a: 1, list: [null] }, ['list[0]']],
    ['a member of a map', { a: 1, map: { 'x/y~z': 1 } }, ['map.x/y~z']],
    ['two wrong places', { a: 'x', map: 3 }, ['a', 'map']],
    ['the body itself, with no name', 'text', ['']],
  ])('names the location of %s', (_what, body, names) => {
    expect(refusal(body).fields.map((field) => field.name)).toEqual(names);
  });

  it('says "body" when the body as a whole is wrong', () => {
    expect(refusal(7).message).toBe('body must be an object');
  });

  it('never quotes the input', () => {
    expect(refusal({ a: 'secret-value', list: 'secret-value' }).message).not.toContain('secret-value');
  });

  it('limits the number of reported fields', () => {
    const list = Array.from({ length: 3_000 }, () => ({}));

    expect(refusal({ a: 1, list }).fields).toHaveLength(20);
  });

  it.each<[string, object]>([
    ['many elements', { a: 1, list: Array(4_001).fill({}) }],
    ['much text', { a: 1, list: [{}, {}], text: 'x'.repeat(65_537) }],
  ])('reports only the first error of a body with %s', (_what, body) => {
    expect(refusal(body).fields.map(({ name }) => name)).toEqual(['list[0].b']);
  });

  it('reports only the length of a list that is too long', () => {
    const { fields } = refusal({ a: 1, map: 3, few: Array.from({ length: 3_000 }, () => ({})) });

    expect(fields).toEqual([{ name: 'few', pointer: '/few', message: 'must have at most 2 items' }]);
  });

  it('truncates long pointers', () => {
    const [field] = refusal({ a: 1, map: { ['x'.repeat(10_000)]: 1 } }).fields;

    expect(field?.pointer).toHaveLength(256);
  });
});

describe('strictParserFor', () => {
  const parseStrictly = strictParserFor<{ spec: { size: number; kind: string } }>({
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
  const fieldsOf = (body: unknown) => {
    try {
      parseStrictly(body);
    } catch (error) {
      if (error instanceof InvalidBody) return error.fields;
      throw error;
    }
    throw new Error('The body was accepted');
  };

  it('fills in defaults in a copy', () => {
    const body = { spec: {} };

    expect(parseStrictly(body)).toEqual({ spec: { size: 3, kind: 'small' } });
    expect(body).toEqual({ spec: {} });
  });

  it('names an unknown field by pointer', () => {
    expect(fieldsOf({ spec: { 'a/b~c': 1 } })).toEqual([
      {
        name: 'spec.a/b~c',
        pointer: '/spec/a~1b~0c',
        message: 'is not a known field: check its spelling, or leave it out',
      },
    ]);
  });

  it('lists the permitted values', () => {
    expect(fieldsOf({ spec: { kind: 'huge' } })).toEqual([
      { name: 'spec.kind', pointer: '/spec/kind', message: 'must be one of small, large' },
    ]);
  });
});
