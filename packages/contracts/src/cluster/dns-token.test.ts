import { describe, expect, it } from '@jest/globals';
import { parseDnsTokenPost } from './dns-token.js';

describe('the body of a token POST', () => {
  it('needs a name, and covers all of the team for ever unless it says otherwise', () => {
    expect(parseDnsTokenPost({ name: 'ci' })).toEqual({
      ...{ name: 'ci', scopes: ['dns'], withinName: null, withinTypes: [], expiresAt: null },
    });
  });

  it('gets defaults of its own each time', () => {
    const [one, other] = [parseDnsTokenPost({ name: 'one' }), parseDnsTokenPost({ name: 'other' })];

    (one.scopes as string[]).push('more');

    expect(other.scopes).toEqual(['dns']);
    expect(parseDnsTokenPost({ name: 'third' }).scopes).toEqual(['dns']);
  });
});
