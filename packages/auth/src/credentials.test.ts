import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bearerToken, isWellFormedDnsToken, mintDnsToken } from './dns/token-verifier.js';
import { hashSessionSecret, mintSessionSecret, sessionSecretOf } from './sessions/store.js';

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

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const minted = fc.constant(null).map(mintDnsToken);
const position = fc.nat(63);

describe('a DNS token', () => {
  it('has 64 letters and digits, the only length that clients of the upstream accept', () => {
    fc.assert(fc.property(minted, (token) => /^[A-Za-z0-9]{64}$/.test(token) && isWellFormedDnsToken(token)));
  });

  it('is malformed with any one character mistyped', () => {
    const token = mintDnsToken();
    const mistyped = [...token].flatMap((right, at) =>
      [...ALPHABET].filter((wrong) => wrong !== right).map((wrong) => token.slice(0, at) + wrong + token.slice(at + 1)),
    );

    expect(mistyped).toHaveLength(64 * 61);
    expect(mistyped.filter(isWellFormedDnsToken)).toEqual([]);
  });

  it('is malformed with two characters swapped at any positions', () => {
    fc.assert(
      fc.property(minted, position, position, (token, one, other) => {
        const characters = [...token];
        [characters[one], characters[other]] = [characters[other] as string, characters[one] as string];
        const swapped = characters.join('');
        return swapped === token || !isWellFormedDnsToken(swapped);
      }),
      { numRuns: 200 },
    );
  });

  it.each(['', ' ', '\n', '\0'])('is malformed with %j around it', (around) => {
    const token = mintDnsToken();

    expect(isWellFormedDnsToken(token + around)).toBe(around === '');
    expect(isWellFormedDnsToken(around + token)).toBe(around === '');
  });
});

const secret = mintSessionSecret();
const other = mintSessionSecret();

describe('sessionSecretOf', () => {
  it.each([
    ['alone', `sessionid=${secret}`],
    ['among others', `theme=dark; sessionid=${secret}; lang=de`],
    ['without spaces', `theme=dark;sessionid=${secret}`],
    ['beside one with the same ending', `oldsessionid=${other}; sessionid=${secret}`],
    ['beside one in another case', `SessionId=${other}; sessionid=${secret}`],
  ])('reads the cookie %s', (_where, header) => {
    expect(sessionSecretOf(header)).toBe(secret);
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another cookie', 'theme=dark'],
    ['an empty value', 'sessionid='],
    ['no value', 'sessionid'],
    ['one character too few', `sessionid=${secret.slice(1)}`],
    ['one character too many', `sessionid=${secret}a`],
    ['a character that is not of the alphabet', `sessionid=${secret.slice(1)}%`],
    ['quotes', `sessionid="${secret}"`],
    ['another one beside it', `sessionid=${secret}; sessionid=${other}`],
    ['the same one twice', `sessionid=${secret}; sessionid=${secret}`],
    ['a million semicolons', ';'.repeat(1_000_000)],
  ])('returns null for %s', (_what, header) => {
    expect(sessionSecretOf(header)).toBeNull();
  });
});

describe('a session secret', () => {
  it('is never the same twice and has 256 bits', () => {
    const minted = Array.from({ length: 1_000 }, mintSessionSecret);

    expect(new Set(minted).size).toBe(1_000);
    for (const text of minted) expect(Buffer.from(text, 'base64url')).toHaveLength(32);
  });

  it('is stored as its SHA-256', () => {
    expect(hashSessionSecret('the text').toString('hex')).toBe(
      '41a1f654dc79a9ac645afa553c31d51fd115eca8dd1cb9e6c67ae03e52718e8b',
    );
  });
});
