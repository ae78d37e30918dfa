import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findUnstorable } from './body.js';

describe('what cannot be kept', () => {
  it.each([
    ['NUL in a value', { a: { b: ['x', 'y\0'] } }, '/a/b/1'],
    ['half a surrogate pair', { a: '\ud83d' }, '/a'],
    ['the other half', { a: '\ude00x' }, '/a'],
    ['a number beyond a double', { a: [Number.POSITIVE_INFINITY] }, '/a/0'],
    ['NUL in a name', { a: { 'b\0': 1 } }, '/a'],
    ['a name with a slash and a tilde', { 'a/b~c': '\0' }, '/a~1b~0c'],
  ])('is found: %s', (_what, body, pointer) => {
    expect(findUnstorable(body)?.pointer).toBe(pointer);
  });

  it('excludes every other JSON value', () => {
    expect(findUnstorable({ a: [null, true, -0.5, 1e308, '', 'é', '😀', '\u0001'], b: {} })).toBeNull();
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'grapheme' }), (value) => {
        fc.pre(!JSON.stringify(value).includes('\\u0000'));
        expect(findUnstorable(value)).toBeNull();
      }),
    );
  });
});
