import { randomBytes } from 'node:crypto';
import { KeyRing } from '@corral/secrets';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ATTEMPT_MS_MAX, openFromBrowser, sealForBrowser } from './cookies.js';
import { claimsOf, lacksPerson } from './oidc-client.js';
import { parseReturnPath } from './return-path.js';

describe('the return path of a sign-in', () => {
  it.each([
    ['/'],
    ['/api/v1/me/'],
    ['/docs/'],
    ['/api/v1/teams/acme/clusters/?limit=5&cursor=WyJhIl0'],
    ['/search?next=https://elsewhere.test/'],
    ['/a%20b/'],
    ['/authors/'],
    ['/auth/authorize/?client_id=corral-cli'],
  ])('may be %s', (path) => {
    expect(parseReturnPath(path)).toBe(path);
  });

  it.each([
    ['a URL', 'https://evil.test/'],
    ['a URL without slashes', 'https:evil.test'],
    ['a URL with one slash', 'https:/evil.test'],
    ['a javascript URL', 'javascript:alert(1)'],
    ['a host', '//evil.test/'],
    ['a host behind three slashes', '///evil.test/'],
    ['a host behind a backslash', '/\\evil.test/'],
    ['a host behind two backslashes', '\\\\evil.test/'],
    ['a backslash anywhere', '/a\\b'],
    ['a host behind an encoded slash', '/%2fevil.test/'],
    ['a host behind an encoded backslash', '/%5Cevil.test/'],
    ['a host behind a slash encoded twice', '/%252fevil.test/'],
    ['a host behind a slash encoded three times', '/%25252fevil.test/'],
    ['a path with too many layers of encoding', `/%${'25'.repeat(20)}2fevil.test/`],
    ['a host behind a dot segment', '/.//evil.test/'],
    ['a host behind an encoded dot segment', '/%2e//evil.test/'],
    ['a host behind a parent segment', '/a/..//evil.test/'],
    ['a host behind a tab', '/\t/evil.test/'],
    ['a host behind a line break', '/\r\n/evil.test/'],
    ['a leading space', ' //evil.test/'],
    ['a NUL', '/\0/evil.test/'],
    ['a fullwidth slash', '/／evil.test/'],
    ['a user name', '@evil.test/'],
    ['a relative path', 'api/v1/me/'],
    ['empty', ''],
    ['a query alone', '?x=1'],
    ['invalid UTF-8 after decoding', '/%ff/'],
    ['a path of the sign-in itself', '/auth/login/'],
    ['an encoded path of the sign-in itself', '/%61uth/logout/'],
    ['a path below that of the command line', '/auth/authorize/login/'],
    ['a way out of that path', '/auth/authorize/%2e%2e/logout/'],
    ['a path that is too long', `/${'a'.repeat(500)}`],
  ])('may not be %s', (_what, text) => {
    expect(parseReturnPath(text)).toBeNull();
  });

  it('is always on the same origin', () => {
    const part = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2f',
      '%5c',
      '%',
      '25',
      '@',
      ':',
      '?',
      '#',
      'evil.test',
      '\t',
      'http:',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = parseReturnPath(`/${parts.join('')}`);
        fc.pre(path !== null);

        expect(new URL(path as string, 'https://corral.test').origin).toBe('https://corral.test');
        expect(path).toMatch(/^\/(?![/\\])/);
      }),
    );
  });
});

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

const ring = new KeyRing([{ id: '2026.11', bytes: randomBytes(32) }]);
const attempt = { nonce: 'the-nonce', codeVerifier: 'the-verifier', returnTo: '/docs/', startedAt: 1_000_000 };
const sealed = sealForBrowser(ring, 'state-a', attempt);

describe('what a browser keeps of a sign-in', () => {
  it('is opened for its attempt until it expires', () => {
    expect(openFromBrowser(ring, 'state-a', sealed, attempt.startedAt)).toEqual(attempt);
    expect(openFromBrowser(ring, 'state-a', sealed, attempt.startedAt + ATTEMPT_MS_MAX - 1)).toEqual(attempt);
    expect(openFromBrowser(ring, 'state-a', sealed, attempt.startedAt + ATTEMPT_MS_MAX)).toBeNull();
  });

  it.each([
    ['another attempt', 'state-b', sealed],
    ['a changed end', 'state-a', `${sealed.slice(0, -4)}AAAA`],
    ['the id of another key', 'state-a', `other${sealed.slice(sealed.lastIndexOf('.'))}`],
    ['no key id', 'state-a', sealed.slice(sealed.lastIndexOf('.') + 1)],
    ['an empty text', 'state-a', ''],
    ['only a dot', 'state-a', '.'],
  ])('is not opened with %s', (_what, owner, text) => {
    expect(openFromBrowser(ring, owner, text, attempt.startedAt)).toBeNull();
  });

  it('does not reveal its content', () => {
    const bytes = Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url').toString('latin1');

    for (const secret of [attempt.nonce, attempt.codeVerifier]) expect(bytes).not.toContain(secret);
  });
});
