import { describe, expect, it } from '@jest/globals';
import { isShallow, nestingMax, sliceElements, sliceMember, sliceMembers } from './spans.js';

describe('sliceMember', () => {
  it.each([
    [
      'an object with its inner whitespace',
      '{"rrset": { "ttl" : 1.0e2 ,\n"x":[ ] } , "action":{}}',
      'rrset',
      '{ "ttl" : 1.0e2 ,\n"x":[ ] }',
    ],
    ['an array', ' {"a":[1 , 2 ]}\n', 'a', '[1 , 2 ]'],
    ['a string with escapes as they were written', '{"a":"\\u0041\\/ }],{"}', 'a', '"\\u0041\\/ }],{"'],
    ['a number beyond what JavaScript can hold', '{"a": 12345678901234567890.10 }', 'a', '12345678901234567890.10'],
    ['a literal', '{"a" : null}', 'a', 'null'],
    ['the last of a repeated member, as JSON.parse does', '{"a":1,"a":2}', 'a', '2'],
    ['a member whose key was escaped', '{"\\u0061":1}', 'a', '1'],
    ['a member called __proto__', '{"__proto__":{"a":1}}', '__proto__', '{"a":1}'],
  ])('returns %s', (_what, text, key, span) => {
    const slice = sliceMember(text, key);

    expect(slice).toBe(span);
  });

  it.each([
    ['an absent member', '{"b":1}', 'a'],
    ['a member deeper inside', '{"b":{"a":1}}', 'a'],
    ['a key that stands as a value', '{"b":"a"}', 'a'],
    ['an empty object', '{}', 'a'],
    ['an array', '[{"a":1}]', 'a'],
    ['a bare value', '"a"', 'a'],
    ['a comment, which JSON does not have', '{/* */"a":1}', 'a'],
    ['a trailing comma', '{"a":1,}', 'a'],
    ['half a body', '{"a":1', 'a'],
    ['an empty text', '', 'a'],
    ['a byte order mark', '\uFEFF{"a":1}', 'a'],
  ])('returns null for %s', (_what, text, key) => {
    const slice = sliceMember(text, key);

    expect(slice).toBeNull();
  });
});

describe('sliceMembers', () => {
  it('returns each member in the order in which it was asked for', () => {
    expect(sliceMembers('{"a":1,"b":{ },"a":2}', ['b', 'c', 'a'])).toEqual(['{ }', null, '2']);
    expect(sliceMembers('[1]', ['a', 'b'])).toEqual([null, null]);
  });
});

describe('sliceElements', () => {
  it.each([
    ['objects', '{"rrsets": [ {"a" : 1} ,\n{ } ]}', ['{"a" : 1}', '{ }']],
    ['mixed values', '{"rrsets":["],",-0.0,null,[1, [2]]]}', ['"],"', '-0.0', 'null', '[1, [2]]']],
    ['no element', '{"rrsets":[ ]}', []],
    ['no array', '{"rrsets":{"a":1}}', []],
    ['no such member', '{}', []],
    ['no JSON', '{"rrsets":[1}', []],
  ])('returns the exact texts of %s', (_what, text, spans) => {
    const slices = sliceElements(text, 'rrsets');

    expect(slices).toEqual(spans);
  });
});

describe('isShallow', () => {
  it.each([
    [nestingMax, true],
    [nestingMax + 1, false],
    [500_000, false],
  ])('answers for %i levels: %s', (levels, shallow) => {
    const text = '['.repeat(levels) + ']'.repeat(levels);

    expect(isShallow(text)).toBe(shallow);
  });
});
