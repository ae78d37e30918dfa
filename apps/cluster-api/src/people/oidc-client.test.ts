import { describe, expect, it } from '@jest/globals';
import { claimsOf, lacksPerson } from './oidc-client.js';

const identity = { iss: 'https://id.test', sub: 'ann' };
const email = { email: 'ann@acme.test', email_verified: true };

describe('the claims of an identity provider', () => {
  it.each([
    ['everything', { ...identity, ...email, name: 'Ann' }, false],
    ['no name', { ...identity, ...email }, true],
    ['no address', { ...identity, name: 'Ann' }, true],
    ['an address without email_verified', { ...identity, email: 'ann@acme.test', name: 'Ann' }, true],
  ])('are completed from userinfo when the ID token has %s: %s', (_what, idToken, lacks) => {
    expect(lacksPerson(idToken)).toBe(lacks);
  });

  it.each([
    ['the ID token alone', { ...identity, ...email }, null, ['ann@acme.test', true]],
    ['userinfo', identity, email, ['ann@acme.test', true]],
    [
      'the ID token rather than userinfo',
      { ...identity, ...email },
      { email: 'x@y.z', email_verified: true },
      ['ann@acme.test', true],
    ],
    [
      'userinfo, which does not verify the address of the ID token',
      { ...identity, email: 'boss@acme.test' },
      { email_verified: true },
      [null, true],
    ],
    [
      'userinfo, whose address the ID token does not verify',
      { ...identity, email_verified: true },
      { email: 'boss@acme.test' },
      ['boss@acme.test', false],
    ],
    [
      'a string instead of a boolean',
      { ...identity, email: 'ann@acme.test', email_verified: 'true' },
      null,
      ['ann@acme.test', false],
    ],
    ['an address that is not a string', { ...identity, email: ['a@b.cd'], email_verified: true }, null, [null, true]],
  ])('are read from %s', (_what, idToken, userInfo, expected) => {
    const { email: address, emailVerified } = claimsOf(idToken, userInfo);

    expect([address, emailVerified]).toEqual(expected);
  });

  it('take names from either document', () => {
    const names = claimsOf({ ...identity, name: 'Ann L' }, { given_name: 'Ann', family_name: 7, name: 'Other' });

    expect([names.firstName, names.lastName, names.displayName]).toEqual(['Ann', null, 'Ann L']);
  });
});
