import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
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
