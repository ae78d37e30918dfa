import { describe, expect, it } from '@jest/globals';
import { newUserCode, shownUserCode, userCodeLetters, userCodeOf } from '../src/index.js';

describe('a user code', () => {
  it.each([
    ['BCDFGHJK', 'BCDFGHJK'],
    ['BCDF-GHJK', 'BCDFGHJK'],
    [' bcdf ghjk\n', 'BCDFGHJK'],
    ['BCDF–GHJK', 'BCDFGHJK'],
    ['BCDF-GHJ', null],
    ['BCDF-GHJKL', null],
    ['ACDF-GHJK', null],
    ['BCDF-GHJ1', null],
    ['BCDF_GHJK', null],
    ['', null],
  ])('typed as %j is read as %j', (typed, code) => {
    expect(userCodeOf(typed)).toBe(code);
  });

  it('is made of any of its letters, and read as it is shown', () => {
    for (const [place, letter] of [...userCodeLetters].entries()) {
      const code = newUserCode(() => place);
      expect(code).toBe(letter.repeat(8));
      expect(userCodeOf(shownUserCode(code))).toBe(code);
    }
    expect(userCodeLetters).not.toMatch(/[AEIOUY0-9]/);
  });
});
