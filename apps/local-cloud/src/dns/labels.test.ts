import { describe, expect, it } from '@jest/globals';
import { isLabelKey, isLabelValue } from './labels.js';

describe('labels', () => {
  it.each(['a', 'A.b_c-d', 'example.net/key', 'x'.repeat(63)])('take the key %s', (key) => {
    expect(isLabelKey(key)).toBe(true);
  });

  it.each([
    '',
    '-a',
    'a-',
    'a b',
    '/a',
    'a/',
    'a/b/c',
    'Example.net/a',
    'hetzner.cloud/a',
    'x'.repeat(64),
    'ä',
    '__proto__',
  ])('refuse the key %p', (key) => {
    expect(isLabelKey(key)).toBe(false);
  });

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
