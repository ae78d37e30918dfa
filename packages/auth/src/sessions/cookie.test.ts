import { describe, expect, it } from '@jest/globals';
import { hashSessionSecret, mintSessionSecret, sessionSecretOf } from './cookie.js';

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
