import { describe, expect, it } from '@jest/globals';
import { parseDnsTokenPost } from './dns-token.js';

describe('parseDnsTokenPost', () => {
  it('requires a name and defaults to all names of the team without expiry', () => {
    expect(parseDnsTokenPost({ name: 'ci' })).toEqual({
      name: 'ci',
      scopes: ['dns'],
      withinName: null,
      withinTypes: [],
      expiresAt: null,
    });
  });

  it('returns fresh defaults each time', () => {
    const [one, other] = [parseDnsTokenPost({ name: 'one' }), parseDnsTokenPost({ name: 'other' })];

    (one.scopes as string[]).push('more');

    expect(other.scopes).toEqual(['dns']);
    expect(parseDnsTokenPost({ name: 'third' }).scopes).toEqual(['dns']);
  });
});
