import { describe, expect, it } from '@jest/globals';
import { hashCourseCode, isCourseCode } from './course-code.js';

describe('a course code', () => {
  it.each(['WORKSHOP', 'dns-2027', 'a.b_c-d', 'x'.repeat(64)])('can be %j', (code) => {
    expect(isCourseCode(code)).toBe(true);
  });

  it.each(['', 'SHORT', 'two words', '-workshop', 'wörkshop', 'x'.repeat(65), 'WORKSHOP\n'])('cannot be %j', (code) => {
    expect(isCourseCode(code)).toBe(false);
  });

  it('hashes differently from every other code, including in case', () => {
    const hashes = ['WORKSHOP', 'workshop', 'WORKSHOP ', ''].map((code) =>
      Buffer.from(hashCourseCode(code)).toString('hex'),
    );

    expect(new Set(hashes).size).toBe(4);
    for (const hash of hashes) expect(hash).toHaveLength(64);
  });
});
