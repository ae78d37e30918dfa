import { describe, expect, it } from '@jest/globals';
import { isLabelKey, isLabelValue, parseLabelSelector } from './labels.js';

const parse = (selector: string) => parseLabelSelector(selector, (part) => new Error(`${part} cannot be read`));

describe('a label selector', () => {
  const labels = { tier: 'web', 'app.example/name': 'shop', empty: '' };

  it.each([
    ['', true],
    ['tier', true],
    ['gone', false],
    ['tier=web', true],
    ['empty=', true],
    ['tier in (web, db)', true],
    ['gone in (web)', false],
    ['app.example/name=shop,tier in (web,db)', true],
    ['app.example/name=shop,tier=db', false],
  ])('%p selects: %p', (selector, selects) => {
    expect(parse(selector)(labels)).toBe(selects);
  });

  it.each(['=a', 'a b', 'a in web', '-a=b', 'a=-', 'a=b=c', ','])('rejects %p', (selector) => {
    expect(() => parse(selector)).toThrow(/cannot be read/);
  });
});

describe('labels', () => {
  it.each(['a', 'A.b_c-d', 'example.net/key', 'x'.repeat(63)])('accept the key %s', (key) => {
    expect(isLabelKey(key)).toBe(true);
  });

  it.each(['', '-a', 'a-', 'a b', '/a', 'a/', 'a/b/c', 'a..b/c', 'Example.net/a', 'x'.repeat(64), 'ä', '__proto__'])(
    'reject the key %p',
    (key) => {
      expect(isLabelKey(key)).toBe(false);
    },
  );

  it.each([
    ['', true],
    ['a.b', true],
    ['x'.repeat(63), true],
    ['x'.repeat(64), false],
    ['.a', false],
    ['a b', false],
  ])('value %p: %s', (value, valid) => {
    expect(isLabelValue(value)).toBe(valid);
  });
});
