import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseCharacterStrings } from './character-strings.js';

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

const chunk = fc.string({ unit: 'grapheme-ascii', maxLength: 255 });

describe('parseCharacterStrings', () => {
  it('reads back whatever text was quoted and escaped', () => {
    fc.assert(
      fc.property(fc.array(chunk, { minLength: 1, maxLength: 4 }), (chunks) => {
        const parsed = parseCharacterStrings(chunks.map(quote).join(' '));

        expect(parsed?.map(String)).toEqual(chunks);
      }),
    );
  });

  it.each([
    ['"\\065\\010"', [0x41, 0x0a]],
    ['"\\""', [0x22]],
    ['"\\a"', [0x61]],
    ['"\\1"', [0x31]],
  ])('unescapes %s', (text, bytes) => {
    const parsed = parseCharacterStrings(text);

    expect(parsed).toEqual([Buffer.from(bytes)]);
  });
});
