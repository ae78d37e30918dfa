import { describe, expect, it } from '@jest/globals';
import { keptText } from './refused-writes.js';

describe('a name that was asked for, in the audit log', () => {
  it.each([
    ['is itself', 'www.acme', 'www.acme'],
    ['is cut where it is too long', 'x'.repeat(20_000), 'x'.repeat(255)],
    ['is never cut within a character', '\u{1f600}'.repeat(300), '\u{1f600}'.repeat(255)],
    ['has nothing that a column cannot hold', 'a\u0000b\nc\ud800d', 'a\ufffdb\ufffdc\ufffdd'],
  ])('%s', (_what, asked, kept) => {
    expect(keptText(asked, 255)).toBe(kept);
  });
});
