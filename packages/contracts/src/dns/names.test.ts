import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isAtOrBelow, isTeamSlug, ownerLabelOf, parseRrsetName, reservedSlugs } from './names.js';

const ZONE = 'example.test';
const label = (length: number) => 'a'.repeat(length);
/** A name with this many characters including the zone. */
const fullName = (characters: number) => {
  const own = characters - ZONE.length - 1;
  const labels = [label(63), label(63), label(63), label(own - 3 * 64)];
  return labels.join('.');
};

const labelText = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
const name = fc.array(labelText, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));

describe('parseRrsetName', () => {
  it.each([
    ['the own name of a team', 'acme', 'acme'],
    ['names below', 'api.prod.acme', 'acme'],
    ['a wildcard as the whole first label', '*.apps.acme', 'acme'],
    ['underscores', '_acme-challenge.acme', 'acme'],
    ['an underscore in the last label', '_dmarc', '_dmarc'],
    ['digits only', '1.2', '2'],
    ['punycode', 'xn--mnchen-3ya.acme', 'acme'],
    ['a hyphen at the edge of a label', '-a-.acme', 'acme'],
    ['a label of 63 characters', `${label(63)}.acme`, 'acme'],
    ['a full name of 253 characters', fullName(253), label(253 - ZONE.length - 1 - 192)],
    ['the zone’s name as a prefix', 'example.test.acme', 'acme'],
    ['a label that ends like the zone', 'myexample.tests', 'tests'],
    ['a bare wildcard, which no team owns', '*', '*'],
  ])('accepts %s', (_what, text, ownerLabel) => {
    expect(parseRrsetName(text, ZONE)).toEqual({ text, ownerLabel });
  });

  it.each([
    ['nothing', ''],
    ['the apex', '@'],
    ['an apex in the middle', 'a.@.acme'],
    ['upper case', 'API.acme'],
    ['one upper-case letter at the end', 'api.acmE'],
    ['a space', 'a b.acme'],
    ['a space at the edge', ' acme'],
    ['a line feed at the end', 'acme\n'],
    ['a tab', 'a\t.acme'],
    ['a NUL', 'a\0.acme'],
    ['a leading dot', '.acme'],
    ['a trailing dot', 'acme.'],
    ['double dots', 'a..acme'],
    ['a dot alone', '.'],
    ['two dots', '..'],
    ['a slash', 'a/b.acme'],
    ['a backslash', 'a\\b.acme'],
    ['a percent sign', '%61.acme'],
    ['letters beyond ASCII', 'münchen.acme'],
    ['full-width letters', 'ａcme'],
    ['the Kelvin sign', 'stac\u212a'],
    ['a soft hyphen', 'ac\u00adme'],
    ['a zero-width joiner', 'ac\u200dme'],
    ['an ideographic full stop', 'a\u3002acme'],
    ['half a surrogate pair', '\ud800.acme'],
    ['a wildcard in the middle', 'a.*.acme'],
    ['a wildcard at the end', 'acme.*'],
    ['a wildcard as a part of a label', '*a.acme'],
    ['a double wildcard', '**.acme'],
    ['an encoded wildcard', '%2A.acme'],
    ['a label of 64 characters', `${label(64)}.acme`],
    ['a full name of 254 characters', fullName(254)],
    ['the zone itself', ZONE],
    ['a name that ends in the zone', `acme.${ZONE}`],
    ['quotes', '"acme"'],
  ])('rejects %s', (_what, text) => {
    expect(parseRrsetName(text, ZONE)).toBeNull();
  });

  it('counts the zone towards the length', () => {
    const text = fullName(253);

    expect(parseRrsetName(text, ZONE)).not.toBeNull();
    expect(parseRrsetName(text, `x${ZONE}`)).toBeNull();
  });

  it('keeps the text unchanged', () => {
    fc.assert(
      fc.property(name, (text) => {
        const parsed = parseRrsetName(text, ZONE);
        if (parsed !== null) expect(parsed).toEqual({ text, ownerLabel: text.split('.').at(-1) });
      }),
    );
  });

  it('accepts only names of the documented alphabet', () => {
    const nearlyName = fc.array(fc.constantFrom('a', 'Z', '0', '-', '_', '.', '*', '@', '%', ' ', '\0', 'é', '/'));
    fc.assert(
      fc.property(
        fc.oneof(
          nearlyName.map((parts) => parts.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (text) => {
          if (parseRrsetName(text, ZONE) === null) return;
          expect(text).toMatch(/^(\*(\.|$))?[a-z0-9_-]*(\.[a-z0-9_-]+)*$/);
          expect(text).toBe(text.normalize('NFKC').toLowerCase());
        },
      ),
    );
  });

  it('finds the same owner as ownerLabelOf', () => {
    fc.assert(fc.property(name, (text) => parseRrsetName(text, ZONE)?.ownerLabel === ownerLabelOf(text)));
  });
});

describe('ownerLabelOf', () => {
  it.each([
    ['@', '@'],
    ['*', '*'],
    ['acme', 'acme'],
    ['a.b.acme', 'acme'],
    ['', ''],
  ])('returns the last label of %j', (text, owner) => {
    expect(ownerLabelOf(text)).toBe(owner);
  });
});

describe('isAtOrBelow', () => {
  it.each([
    ['acme', 'acme', true],
    ['api.acme', 'acme', true],
    ['a.b.acme', 'acme', true],
    ['*.acme', 'acme', true],
    ['xacme', 'acme', false],
    ['x-acme', 'acme', false],
    ['acme.x', 'acme', false],
    ['acm', 'acme', false],
    ['', 'acme', false],
    ['@', 'acme', false],
    ['api.prod.acme', 'prod.acme', true],
    ['apiprod.acme', 'prod.acme', false],
    ['acme', 'prod.acme', false],
  ])('%j at or below %j: %j', (text, suffix, expected) => {
    expect(isAtOrBelow(text, suffix)).toBe(expected);
  });

  it('agrees with a comparison of labels from the end', () => {
    // Few letters, so that suffixes often match, also inside labels.
    const short = fc
      .array(fc.stringMatching(/^[ab]{1,2}$/), { minLength: 1, maxLength: 4 })
      .map((all) => all.join('.'));
    fc.assert(
      fc.property(short, short, (one, other) => {
        const [labels, suffix] = [one.split('.'), other.split('.')];
        const expected = labels.length >= suffix.length && labels.slice(-suffix.length).join('.') === other;
        expect(isAtOrBelow(one, other)).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is true for names several levels below', () => {
    fc.assert(fc.property(name, name, name, (a, b, c) => isAtOrBelow(`${a}.${b}.${c}`, c)));
  });
});

describe('isTeamSlug', () => {
  it.each(['a', '1', 'acme', 'acme-2', 'a--b', label(63)])('may be %s', (text) => {
    expect(isTeamSlug(text)).toBe(true);
  });

  it.each([
    '',
    '-',
    '-acme',
    'acme-',
    'Acme',
    'ac.me',
    'ac_me',
    '_dmarc',
    '_acme-challenge',
    '@',
    '*',
    'ac me',
    'acme\n',
    'äcme',
    label(64),
    'xn--cme-kla',
    'xn--',
    'xn---',
    'xn--acme',
  ])('rejects %j', (text) => {
    expect(isTeamSlug(text)).toBe(false);
  });

  it.each(reservedSlugs)('rejects the reserved word %s', (word) => {
    expect(isTeamSlug(word)).toBe(false);
  });

  it('accepts only valid record-set names owned by the team', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9-]{1,63}$/), (text) => {
        if (isTeamSlug(text)) expect(parseRrsetName(text, ZONE)?.ownerLabel).toBe(text);
      }),
    );
  });
});
