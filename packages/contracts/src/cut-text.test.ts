import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cutText, storableText } from './cut-text.js';

const EMOJI = '\u{1f600}';
const anyText = fc.string({ unit: 'binary', maxLength: 40 });

describe('a text', () => {
  it.each([
    ['that fits stays as it is', 'abc', 3, '', 'abc'],
    ['of characters of two units that fits stays as it is', EMOJI.repeat(3), 3, '…', EMOJI.repeat(3)],
    ['is cut between characters', `${'x'.repeat(254)}${EMOJI}y`, 255, '', `${'x'.repeat(254)}${EMOJI}`],
    ['that ends with a character of two units is cut before it', `ab${EMOJI}`, 2, '', 'ab'],
    ['that is cut ends with the given end', `abc${EMOJI}`, 3, '…', 'ab…'],
  ])('%s', (_what, text, max, end, kept) => {
    expect(cutText(text, max, end)).toBe(kept);
  });

  it('that is cut has as many characters as allowed, and no half of one', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), fc.constantFrom('', '…'), (text, max, end) => {
        const cut = cutText(text, max, end);

        expect(cut.isWellFormed()).toBe(true);
        expect([...cut].length).toBe(Math.min(max, [...text].length));
        expect(text.startsWith(cut.endsWith(end) && cut !== text ? cut.slice(0, cut.length - end.length) : cut)).toBe(
          true,
        );
      }),
    );
  });
});

describe('a storable text', () => {
  it.each([
    ['replaces control characters', 'a\0b\nc', 'a b c'],
    ['replaces a half of a surrogate pair', 'a\ud83dc\ude00', 'a c '],
    ['keeps whole pairs', EMOJI.repeat(9), EMOJI.repeat(9)],
    ['is cut between characters', EMOJI.repeat(11), EMOJI.repeat(10)],
  ])('%s', (_what, text, kept) => {
    expect(storableText(text, 10)).toBe(kept);
  });

  it('shows where a character was replaced, if asked to', () => {
    expect(storableText('a\0b\nc\ud800d', 255, '\ufffd')).toBe('a\ufffdb\ufffdc\ufffdd');
  });
});
