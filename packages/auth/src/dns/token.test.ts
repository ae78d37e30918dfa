import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashDnsToken, isWellFormedDnsToken, mintDnsToken } from './token.js';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const minted = fc.constant(null).map(mintDnsToken);
const position = fc.nat(63);

describe('a DNS token', () => {
  it('has 64 letters and digits, the only length that clients of the upstream accept', () => {
    fc.assert(fc.property(minted, (token) => /^[A-Za-z0-9]{64}$/.test(token) && isWellFormedDnsToken(token)));
  });

  it('is different each time', () => {
    expect(new Set(Array.from({ length: 1_000 }, mintDnsToken)).size).toBe(1_000);
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
      { numRuns: 2_000 },
    );
  });

  it('is malformed with a character lost or doubled, or in another case', () => {
    fc.assert(
      fc.property(minted, position, (token, at) => {
        const doubled = token.slice(0, at) + token.slice(at, at + 1).repeat(2) + token.slice(at + 1);
        const spoilt = [token.slice(0, at) + token.slice(at + 1), doubled, token.toLowerCase(), token.toUpperCase()];
        return spoilt.every((text) => !isWellFormedDnsToken(text));
      }),
    );
  });

  it('is malformed as arbitrary text', () => {
    const almost = fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: 64, maxLength: 64 });
    fc.assert(fc.property(fc.oneof(fc.string(), almost), (text) => !isWellFormedDnsToken(text)));
  });

  it.each(['', ' ', '\n', '\0'])('is malformed with %j around it', (around) => {
    const token = mintDnsToken();

    expect(isWellFormedDnsToken(token + around)).toBe(around === '');
    expect(isWellFormedDnsToken(around + token)).toBe(around === '');
  });

  it('is stored as 32 bytes that differ between tokens', () => {
    fc.assert(
      fc.property(minted, minted, (one, other) => {
        expect(hashDnsToken(one)).toHaveLength(32);
        expect(hashDnsToken(one).equals(hashDnsToken(one))).toBe(true);
        expect(hashDnsToken(one).equals(hashDnsToken(other))).toBe(false);
      }),
    );
  });
});
