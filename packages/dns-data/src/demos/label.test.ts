import { isTeamSlug, parseRrsetName } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashCourseCode, isCourseCode } from './course-code.js';
import { drawLabel, isLabel, isReservedLabel, labelOf } from './label.js';

describe('labels', () => {
  const names = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.string({ unit: fc.constantFrom('a', 'Z', '9', '-', '_', '.', ' ', 'é', 'ß', '\u0301', '🦊'), maxLength: 100 }),
  );

  describe('labelOf', () => {
    it('returns a name that a demo can own in the zone, or null', () => {
      fc.assert(
        fc.property(names, (name) => {
          const label = labelOf(name);
          if (label === null) return !/[a-z0-9]/i.test(name);
          return parseRrsetName(label, 'demo.example.test')?.ownerLabel === label && isLabel(label);
        }),
      );
    });

    it('never returns a punycode label, whatever the name begins with', () => {
      fc.assert(
        fc.property(names, (name) => {
          expect(labelOf(`xn--${name}`)).not.toMatch(/^xn--/);
        }),
      );
      expect([labelOf('xn--cme-kla'), isLabel('xn--cme-kla')]).toEqual(['xn-cme-kla', false]);
    });

    it.each(['', '-', '...', '🦊', '日本'])('returns null for %j', (name) => {
      expect(labelOf(name)).toBeNull();
    });
  });

  describe('drawLabel', () => {
    it('returns a readable label that a demo may have', () => {
      for (let count = 0; count < 500; count += 1) {
        const label = drawLabel();
        expect(label).toMatch(/^[a-z]+(-[a-z]+){2,}$/);
        expect([isLabel(label), isTeamSlug(label), isReservedLabel(label)]).toEqual([true, true, false]);
      }
    });
  });
});

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
