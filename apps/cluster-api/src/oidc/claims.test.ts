import { describe, expect, it } from '@jest/globals';
import { claimsOf, lacksPerson } from './claims.js';

const identity = { iss: 'https://id.test', sub: 'ann' };
const email = { email: 'ann@acme.test', email_verified: true };

describe('what a provider says of a person', () => {
  it.each([
    ['all of it', { ...identity, ...email, name: 'Ann' }, false],
    ['no name', { ...identity, ...email }, true],
    ['no address', { ...identity, name: 'Ann' }, true],
    ['an address, and not whether it is verified', { ...identity, email: 'ann@acme.test', name: 'Ann' }, true],
  ])('is asked for again when the token says %s: %s', (_what, idToken, lacks) => {
    expect(lacksPerson(idToken)).toBe(lacks);
  });

  it.each([
    ['the token alone', { ...identity, ...email }, null, ['ann@acme.test', true]],
    ['the userinfo', identity, email, ['ann@acme.test', true]],
    [
      'the token before the userinfo',
      { ...identity, ...email },
      { email: 'x@y.z', email_verified: true },
      ['ann@acme.test', true],
    ],
    [
      'both, but one does not vouch for the other',
      { ...identity, email: 'boss@acme.test' },
      { email_verified: true },
      [null, true],
    ],
    ['both, each half', { ...identity, email_verified: true }, { email: 'boss@acme.test' }, ['boss@acme.test', false]],
    [
      'a word for a yes',
      { ...identity, email: 'ann@acme.test', email_verified: 'true' },
      null,
      ['ann@acme.test', false],
    ],
    ['no text for an address', { ...identity, email: ['a@b.cd'], email_verified: true }, null, [null, true]],
  ])('is read from %s', (_what, idToken, userInfo, expected) => {
    const { email: address, emailVerified } = claimsOf(idToken, userInfo);

    expect([address, emailVerified]).toEqual(expected);
  });

  it('has names from either document', () => {
    const names = claimsOf({ ...identity, name: 'Ann L' }, { given_name: 'Ann', family_name: 7, name: 'Other' });

    expect([names.firstName, names.lastName, names.displayName]).toEqual(['Ann', null, 'Ann L']);
  });
});
