import { describe, expect, it } from '@jest/globals';
import { keptText } from './refused-writes.js';

describe('keptText', () => {
  it.each([
    ['returns a short name unchanged', 'www.acme', 'www.acme'],
    ['truncates a long name', 'x'.repeat(20_000), 'x'.repeat(255)],
    ['never splits a character', '\u{1f600}'.repeat(300), '\u{1f600}'.repeat(255)],
    ['replaces what a column cannot hold', 'a\u0000b\nc\ud800d', 'a\ufffdb\ufffdc\ufffdd'],
  ])('%s', (_what, asked, kept) => {
    expect(keptText(asked, 255)).toBe(kept);
  });
});
