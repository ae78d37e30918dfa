import { describe, expect, it } from '@jest/globals';
import { bearerToken } from './token-verifier.js';

describe('bearerToken', () => {
  it.each([
    ['one header', ['Authorization', 'Bearer abc'], 'abc'],
    ['any case of header and scheme', ['AUTHORIZATION', 'bEaReR abc'], 'abc'],
    ['several spaces after the scheme', ['authorization', 'Bearer   abc'], 'abc'],
    ['space around the value', ['Authorization', '  Bearer abc '], 'abc'],
    ['other headers around it', ['Host', 'x', 'Authorization', 'Bearer abc', 'Accept', '*/*'], 'abc'],
    ['a header whose value is called Authorization', ['X', 'Authorization', 'Authorization', 'Bearer abc'], 'abc'],
    ['no header at all', [], null],
    ['no Authorization header', ['Host', 'x'], null],
    ['an empty value', ['Authorization', ''], null],
    ['the scheme alone', ['Authorization', 'Bearer'], null],
    ['the scheme and a space', ['Authorization', 'Bearer '], null],
    ['no scheme', ['Authorization', 'abc'], null],
    ['another scheme', ['Authorization', 'Basic abc'], null],
    ['a scheme with the same beginning', ['Authorization', 'BearerX abc'], null],
    ['a token with a space', ['Authorization', 'Bearer abc def'], null],
    ['a token with a tab', ['Authorization', 'Bearer abc\tdef'], null],
    ['a tab instead of the space', ['Authorization', 'Bearer\tabc'], null],
    ['two headers', ['Authorization', 'Bearer abc', 'authorization', 'Bearer def'], null],
    ['the same header twice', ['Authorization', 'Bearer abc', 'Authorization', 'Bearer abc'], null],
    ['a second header that is empty', ['Authorization', 'Bearer abc', 'Authorization', ''], null],
  ])('reads %s', (_what, rawHeaders, token) => {
    expect(bearerToken(rawHeaders)).toBe(token);
  });
});
