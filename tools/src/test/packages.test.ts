import { describe, expect, it } from '@jest/globals';
import { chooseTests } from './packages.js';

const all = [
  { name: '@corral/auth', folder: 'packages/auth' },
  { name: '@corral/dns-gateway', folder: 'apps/dns-gateway' },
];
const [auth] = all;

describe('chooseTests', () => {
  it.each(['auth', '@corral/auth', 'packages/auth', 'packages/auth/'])('takes %s for the package', (word) => {
    expect(chooseTests(all, [word])).toEqual({ chosen: [auth], patterns: [] });
  });

  it('takes every package when no word names one, and the words for patterns', () => {
    expect(chooseTests(all, ['zones'])).toEqual({ chosen: all, patterns: ['zones'] });
  });

  it('takes a pattern within a package', () => {
    expect(chooseTests(all, ['auth', 'tokens'])).toEqual({ chosen: [auth], patterns: ['tokens'] });
  });
});
