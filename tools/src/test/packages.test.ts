import { describe, expect, it } from '@jest/globals';
import { chooseTests } from './packages.js';

const all = [
  { name: '@corral/auth', folder: 'packages/auth' },
  { name: '@corral/dns-gateway', folder: 'apps/dns-gateway' },
];
const [auth] = all;

describe('chooseTests', () => {
  it.each(['auth', '@corral/auth', 'packages/auth', 'packages/auth/'])('recognises %s as the package', (word) => {
    expect(chooseTests(all, [word])).toEqual({ chosen: [auth], patterns: [] });
  });

  it('chooses every package when no word names one, and uses the words as patterns', () => {
    expect(chooseTests(all, ['zones'])).toEqual({ chosen: all, patterns: ['zones'] });
  });

  it('accepts a pattern within a package', () => {
    expect(chooseTests(all, ['auth', 'tokens'])).toEqual({ chosen: [auth], patterns: ['tokens'] });
  });
});
