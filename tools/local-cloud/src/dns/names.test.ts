import { describe, expect, it } from '@jest/globals';
import { nameProblem, parentName } from './names.js';

const longest = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(49)}`;

describe('names of sets', () => {
  it.each(['@', 'www', '*', '*.dev', '_acme-challenge.app', 'xn--4ca', '0', 'a.b.c', longest])('accept %s', (name) => {
    expect(nameProblem(name, 'example.net')).toBeNull();
  });

  it.each([
    '',
    'WWW',
    'www.',
    'example.net',
    'www.example.net',
    'a..b',
    '.a',
    'a.*',
    'x*',
    '*.*',
    'ä',
    'a/b',
    '..',
    'a b',
    '@.a',
    'x'.repeat(64),
    `${longest}e`,
  ])('refuse %p', (name) => {
    expect(nameProblem(name, 'example.net')).not.toBeNull();
  });

  it('have the name without its first label as parent, up to the apex', () => {
    const chain = ['a.b', 'b', '@'].map(parentName);

    expect(chain).toEqual(['b', '@', null]);
  });
});
