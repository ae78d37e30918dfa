import { describe, expect, it } from '@jest/globals';
import { parseFieldSelector, parseLabelSelector } from './selectors.js';

describe('a field selector', () => {
  const known = ['metadata.name', 'spec.x'];
  const fields = { 'metadata.name': 'a', 'spec.x': '' };

  it.each([
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name==a,spec.x=', true],
    ['metadata.name!=a', false],
    ['spec.x!=b', true],
  ])('%p selects: %p', (selector, selects) => {
    expect(parseFieldSelector(selector, known)(fields)).toBe(selects);
  });

  it.each([
    ['spec.y=a', /field label not supported: spec.y/],
    ['spec.x', /invalid selector/],
  ])('%p is none', (selector, message) => {
    expect(() => parseFieldSelector(selector, known)).toThrow(message);
  });
});

it('a label selector that cannot be read is refused in the words of Kubernetes', () => {
  expect(() => parseLabelSelector('a b')).toThrow('unable to parse requirement: "a b" in selector "a b"');
});
