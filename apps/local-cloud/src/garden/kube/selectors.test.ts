import { describe, expect, it } from '@jest/globals';
import { parseFieldSelector, parseLabelSelector } from './selectors.js';

describe('a label selector', () => {
  const labels = { tier: 'web', 'app.example/name': 'shop', empty: '' };

  it.each([
    ['', true],
    ['tier', true],
    ['!tier', false],
    ['gone', false],
    ['!gone', true],
    ['tier=web', true],
    ['tier==db', false],
    ['tier!=db', true],
    ['gone!=db', true],
    ['empty=', true],
    ['tier in (web, db)', true],
    ['tier notin (web)', false],
    ['gone notin (web)', true],
    ['gone in (web)', false],
    ['app.example/name=shop,tier in (web,db),!gone', true],
    ['app.example/name=shop,tier=db', false],
  ])('%p selects: %p', (selector, selects) => {
    expect(parseLabelSelector(selector)(labels)).toBe(selects);
  });

  it.each(['=a', 'a b', 'a in web', '-a=b', 'a=-', 'a=b=c', ','])('%p is none', (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(/unable to parse requirement/);
  });
});

describe('a field selector', () => {
  const known = new Set(['metadata.name', 'spec.x']);
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
