import { describe, expect, it } from '@jest/globals';
import { documentSchemas } from './openapi-schemas.js';

const state = { enum: ['on', 'off'], description: 'Of a lamp.' };
const lamp = {
  type: 'object',
  additionalProperties: false,
  required: ['state'],
  properties: { state: { enum: ['on', 'off'] }, colour: { type: 'string', default: 'red' } },
};
const lampInput = { ...lamp, required: [] };
const named = { shared: { State: state }, answers: { Lamp: lamp }, requests: { LampInput: lampInput } };
const { answer, request, components } = documentSchemas({ ...named, nullMeansAbsent: true });
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe('documentSchemas', () => {
  it('replaces what equals a named schema by a reference, and keeps what is said about it there', () => {
    expect(answer({ type: 'array', items: { ...lamp, description: 'One of many.' } })).toEqual({
      type: 'array',
      items: { ...refTo('Lamp'), description: 'One of many.' },
    });
    expect(answer({ ...lamp, required: [] })).toMatchObject({ type: 'object', properties: { state: refTo('State') } });
  });

  it('adds null to a reference where the schema allows it', () => {
    const orNull = { anyOf: [refTo('Lamp'), { type: 'null' }] };

    expect(answer({ ...lamp, type: ['object', 'null'] })).toEqual(orNull);
    expect(answer({ enum: ['off', 'on', null] })).toEqual({ type: ['string', 'null'], enum: ['off', 'on', null] });
    expect(answer({ enum: ['on', 'off', null] })).toEqual({ anyOf: [refTo('State'), { type: 'null' }] });
  });

  it('closes requests and makes their optional members nullable, and opens answers without defaults', () => {
    expect(components).toEqual({
      State: { type: 'string', ...state },
      Lamp: { type: 'object', required: ['state'], properties: { state: refTo('State'), colour: { type: 'string' } } },
      LampInput: {
        type: 'object',
        additionalProperties: false,
        required: [],
        properties: {
          state: { anyOf: [refTo('State'), { type: 'null' }] },
          colour: { type: ['string', 'null'], default: 'red' },
        },
      },
    });
  });

  it('shows in forms that generators of clients support what these schemas say otherwise', () => {
    expect(request({ enum: [false] })).toEqual({ type: 'boolean', const: false });
    expect(request({ type: 'object', properties: { no: { enum: [false] } } })).toMatchObject({
      properties: { no: { anyOf: [{ type: 'boolean', const: false }, { type: 'null' }] } },
    });
    expect(request({ type: 'object', default: {} })).toEqual({ type: 'object', additionalProperties: true });
    expect(answer({ type: 'array' })).toEqual({ type: 'array', items: {} });
    expect(answer({ type: ['object', 'array', 'string', 'number', 'boolean', 'null'], maxLength: 9 })).toEqual({
      maxLength: 9,
    });
  });

  it('refuses two names for one schema', () => {
    expect(() => documentSchemas({ ...named, requests: { Same: state }, nullMeansAbsent: true })).toThrow(
      'The schemas State and Same are the same',
    );
  });
});
