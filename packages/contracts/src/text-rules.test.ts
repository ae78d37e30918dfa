import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isShownName, shownNameOf } from './text-rules.js';

describe('a name from elsewhere', () => {
  it.each([
    ['is kept when people can read it', 'Ada  Lovelace ', 'Ada Lovelace'],
    ['is one line', 'Ada\r\nLovelace', 'Ada Lovelace'],
    ['loses what reverses text', '\u202eadA\u2066', 'adA'],
    ['loses what nobody sees', 'A\u200bd\u2060a', 'Ada'],
    ['keeps joined emoji', '👩‍🚀', '👩‍🚀'],
    ['is empty when nothing is visible', '\u200b \u3164', ''],
  ])('%s', (_what, given, name) => {
    expect(shownNameOf(given, 200)).toBe(name);
  });

  it('is a name that people can read, or empty, whatever it was', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom('é\u200d', '\u202e', ' '),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (parts, max) => {
        const name = shownNameOf(parts.join(''), max);

        expect(name === '' || isShownName(name)).toBe(true);
        expect([...name].length).toBeLessThanOrEqual(max);
      }),
    );
  });

  it('is checked in linear time', () => {
    const begun = performance.now();
    for (const text of ['é\u200d', ' ', 'é', 'é\u200dé']) isShownName(`${text.repeat(50_000)}\u202e`);

    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
