import { isIPv4, isIPv6 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  canNarrowTo,
  canRead,
  coversName,
  coversType,
  isAtOrBelow,
  isTeamSlug,
  ownerLabelOf,
  parseRrsetName,
  reservedSlugs,
  type TokenCoverage,
  writeRefusal,
} from '../src/dns/names.js';
import { quotedText, splitString, textValue, ttlRefusal, valueRefusal } from '../src/dns/record-values.js';

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
    ['a wildcard as the whole first label', '*.apps.acme', 'acme'],
    ['underscores', '_acme-challenge.acme', 'acme'],
    ['an underscore in the last label', '_dmarc', '_dmarc'],
    ['a hyphen at the edge of a label', '-a-.acme', 'acme'],
    ['a full name of 253 characters', fullName(253), label(253 - ZONE.length - 1 - 192)],
    ['a label that ends like the zone', 'myexample.tests', 'tests'],
    ['a bare wildcard, which no team owns', '*', '*'],
  ])('accepts %s', (_what, text, ownerLabel) => {
    expect(parseRrsetName(text, ZONE)).toEqual({ text, ownerLabel });
  });

  it.each<[string, readonly string[]]>([
    ['is empty, the apex or the zone', ['', '@', 'a.@.acme', ZONE, `acme.${ZONE}`]],
    ['has capitals', ['API.acme', 'api.acmE']],
    ['has spaces or control characters', ['a b.acme', ' acme', 'acme\n', 'a\t.acme', 'a\0.acme']],
    ['has an empty label', ['.acme', 'acme.', 'a..acme', '.', '..']],
    ['has other characters', ['a/b.acme', 'a\\b.acme', '%61.acme', '%2A.acme', '"acme"']],
    ['has letters beyond ASCII', ['münchen.acme', 'ａcme', 'stac\u212a', 'ac\u00adme', 'ac\u200dme', 'a\u3002acme']],
    ['has half a surrogate pair', ['\ud800.acme']],
    ['has a wildcard elsewhere than as the first label', ['a.*.acme', 'acme.*', '*a.acme', '**.acme']],
    ['is too long', [`${label(64)}.acme`, fullName(254)]],
  ])('rejects what %s', (_what, texts) => {
    expect(texts.filter((text) => parseRrsetName(text, ZONE) !== null)).toEqual([]);
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

  it('keeps the text, and finds the same owner as ownerLabelOf', () => {
    fc.assert(
      fc.property(name, (text) => {
        const parsed = parseRrsetName(text, ZONE);
        if (parsed !== null) expect(parsed).toEqual({ text, ownerLabel: ownerLabelOf(text) });
      }),
    );
  });
});

describe('isAtOrBelow', () => {
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
      { numRuns: 200 },
    );
  });
});

describe('isTeamSlug', () => {
  it('accepts short labels that are no reserved words', () => {
    const slugs = ['a', '1', 'acme', 'acme-2', 'a--b', label(63)];
    const others = ['', '-', '-acme', 'acme-', 'Acme', 'ac.me', 'ac_me', '_dmarc', '@', '*', 'ac me', 'acme\n', 'äcme'];
    const punycode = ['xn--cme-kla', 'xn--', 'xn---', 'xn--acme'];

    expect([...slugs, ...others, ...punycode, label(64), ...reservedSlugs].filter(isTeamSlug)).toEqual(slugs);
  });

  it('accepts only valid record-set names owned by the team', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9-]{1,63}$/), (text) => {
        if (isTeamSlug(text)) expect(parseRrsetName(text, ZONE)?.ownerLabel).toBe(text);
      }),
    );
  });
});

const coverage = (of: Partial<TokenCoverage> = {}): TokenCoverage => ({
  ownerLabel: 'acme',
  withinName: null,
  withinTypes: [],
  ...of,
});

describe('the names a token covers', () => {
  const names = ['acme', 'api.acme', '*.acme', 'a.b.c.acme', 'prod.acme', 'api.prod.acme'];
  const others = [
    'xacme',
    'api.xacme',
    'acme.globex',
    'globex',
    '@',
    '',
    'ACME',
    'xprod.acme.x',
    'apiprod.acme.globex',
  ];
  const coveredBy = (token: TokenCoverage) => [...names, ...others].filter((name) => coversName(token, name));

  it('are those of its team, or those that it is narrowed to', () => {
    expect(coveredBy(coverage())).toEqual(names);
    expect(coveredBy(coverage({ withinName: 'prod.acme' }))).toEqual(['prod.acme', 'api.prod.acme']);
    expect(coversName(coverage({ withinName: 'prod.acme' }), 'xprod.acme')).toBe(false);
    expect(coveredBy(coverage({ withinName: 'globex' }))).toEqual([]);
  });
});

describe('the types a token may write', () => {
  it('are all types unless the token lists some', () => {
    expect(coversType(coverage(), 'A')).toBe(true);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'TXT')).toBe(true);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'A')).toBe(false);
    expect(coversType(coverage({ withinTypes: ['TXT'] }), 'txt')).toBe(false);
  });
});

describe('the name that a new token is narrowed to', () => {
  it('lies within the names of the team', () => {
    const names = ['acme', 'ci.acme', '_acme-challenge.acme'];
    const others = ['globex', 'xacme', '', '.acme', 'CI.acme'];

    expect([...names, ...others].filter((name) => canNarrowTo(name, 'acme'))).toEqual(names);
  });
});

describe('a record set', () => {
  const rrset = (name: string, type = 'TXT') => ({ zoneName: 'example.test', name, type });
  const challenges = coverage({ withinName: '_acme-challenge.acme', withinTypes: ['TXT'] });

  it.each([
    [rrset('_acme-challenge.acme'), null],
    [rrset('api.acme.'), /^The name is not valid\. Use acme or a name below it/],
    [rrset('www.globex'), /^The name does not belong to you/],
    [rrset('www.acme'), 'This token can write only _acme-challenge.acme and names below it.'],
    [rrset('www.globex', 'MX'), /^The name does not belong to you/],
    [rrset('_acme-challenge.acme', 'MX'), /^Records of this type cannot be written/],
    [rrset('_acme-challenge.acme', 'A'), 'This token can write only the types TXT.'],
  ])('%j is refused with the first reason that applies', (named, refusal) => {
    const said = writeRefusal(challenges, named);

    if (refusal === null) expect(said).toBeNull();
    else expect(said).toMatch(refusal);
  });

  it('can be read with any type at a covered name', () => {
    const at = (type: string) => canRead(challenges, rrset('_acme-challenge.acme', type));

    expect(canRead(challenges, rrset('www.acme'))).toBe(false);
    expect(['A', 'NS', 'MX', 'HTTPS', 'TYPE65535'].filter(at)).toHaveLength(5);
    expect(['a', 'mx', '', 'A\0', 'A/..', 'A'.repeat(17)].filter(at)).toEqual([]);
  });

  it('can be written with the types A, AAAA, CNAME and TXT only', () => {
    const types = ['A', 'AAAA', 'CNAME', 'TXT'];
    const others = ['NS', 'SOA', 'MX', 'CAA', 'SRV', 'a', 'Txt', '', 'A ', ' A', 'A\0', 'ANY', 'A/B', '__proto__'];
    const canWrite = (type: string) => writeRefusal(coverage(), rrset('api.acme', type)) === null;

    expect([...types, ...others].filter(canWrite)).toEqual(types);
  });

  it('of a foreign name that a token is narrowed to is not covered', () => {
    const broken = coverage({ withinName: 'globex' });

    for (const name of ['globex', 'acme']) {
      expect(writeRefusal(broken, rrset(name))).not.toBeNull();
      expect(canRead(broken, rrset(name))).toBe(false);
    }
  });

  it('outside the team’s subtree is never readable or writable, in any spelling', () => {
    const tricky = fc.constantFrom('acme', 'ACME', 'globex', 'x', '.', '..', '*', '@', '%2e', '/', '\0', '-', '_');
    const spelled = fc.array(tricky, { maxLength: 6 }).map((parts) => parts.join(''));
    const dotted = fc.array(tricky, { maxLength: 5 }).map((parts) => parts.join('.'));
    const anyName = fc.oneof(spelled, dotted, fc.string({ unit: 'binary', maxLength: 40 }));
    fc.assert(
      fc.property(anyName, (name) => {
        const isWritable = writeRefusal(coverage(), rrset(name)) === null;
        // Compares labels from the end, independently of the code under test.
        const owned = name.split('.').at(-1) === 'acme';
        if (!owned) expect([isWritable, canRead(coverage(), rrset(name))]).toEqual([false, false]);
        if (isWritable) expect(name).toMatch(/^(\*\.)?([a-z0-9_-]{1,63}\.)*acme$/);
      }),
      { numRuns: 200 },
    );
  });
});

const long = (bytes: number): string => `"${'x'.repeat(bytes)}"`;

describe('the value of a record', () => {
  it.each<[type: string, values: string[]]>([
    ['A', ['192.0.2.1', '0.0.0.0', '255.255.255.255']],
    ['AAAA', ['2001:db8::1', '2001:DB8:0:0:0:0:0:1', '::', '::ffff:192.0.2.1']],
    ['CNAME', ['mail', 'mail.example.net.', '@', '.', 'MAIL', '_x._y', '*.dev', 'xn--mller-kva.example.']],
    [
      'TXT',
      [
        '"a"',
        '""',
        '"a" "b"',
        '"say \\"hi\\""',
        '"\\\\" "x"',
        '"\\065"',
        '"ä"',
        long(255),
        `${long(255)} ${long(255)}`,
      ],
    ],
    ['MX', ['whatever']],
  ])('of type %s is accepted as the upstream accepts it', (type, values) => {
    expect(values.map((value) => valueRefusal(type, value))).toEqual(values.map(() => null));
  });

  it.each<[type: string, refusal: RegExp, values: string[]]>([
    [
      'A',
      /is not an IPv4 address\.$/,
      ['', '192.0.2.300', '192.0.2', '192.0.2.1 ', '192.0.2.01', '192.0.2.0/24', '::1'],
    ],
    [
      'AAAA',
      /is not an IPv6 address\.$/,
      ['', '192.0.2.1', '2001:db8::g', 'fe80::1%eth0', '2001:db8::/32', '2001:db8:::1'],
    ],
    ['CNAME', /^"müll\.example\.org\." is not a name\. .* xn-- form\.$/, ['müll.example.org.']],
    ['CNAME', /is not a name/, ['', 'a b', 'a..b', '..', `${'x'.repeat(64)}.net.`, 'x.'.repeat(130), 'a.*.b']],
    ['TXT', /need double quotes/, ['', 'unquoted', '"open', '"a" b', '"a"  "b"', '"a""b"', '"a" ']],
    ['TXT', /at most 255 bytes/, [long(256), `"${'ä'.repeat(128)}"`, `"ok" ${long(256)}`]],
    ['TXT', /at most \\255/, ['"\\999"']],
  ])('of type %s is refused with %s', (type, refusal, values) => {
    expect(values.map((value) => valueRefusal(type, value))).toEqual(values.map(() => expect.stringMatching(refusal)));
  });

  it('is an address when Node.js says so', () => {
    const near = fc.string({ unit: fc.constantFrom(...'0129afg:.%/'), maxLength: 20 });
    fc.assert(
      fc.property(fc.oneof(near, fc.ipV4(), fc.ipV6()), (text) => {
        expect(valueRefusal('A', text) === null).toBe(isIPv4(text));
        expect(valueRefusal('AAAA', text) === null).toBe(isIPv6(text) && !text.includes('%'));
      }),
    );
  });
});

describe('a TTL', () => {
  it.each([null, 60, 3_600, 2_147_483_647])('can be %s', (ttl) => {
    expect(ttlRefusal(ttl)).toBeNull();
  });

  it.each([0, 30, 59, -1, 60.5, Number.NaN, 2_147_483_648])('cannot be %s', (ttl) => {
    expect(ttlRefusal(ttl)).toBe('The TTL is a number of seconds from 60 to 2147483647.');
  });
});

describe('a text', () => {
  it('becomes strings that fit into a TXT record, and loses nothing', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab"\\ üé😀0'), maxLength: 900 });
    fc.assert(
      fc.property(text, (each) => {
        const value = quotedText(each);
        expect(valueRefusal('TXT', value)).toBeNull();
        expect(splitString(each).join('')).toBe(each);
      }),
    );
  });

  it('has escapes for control characters', () => {
    expect(quotedText('a\tb\u0085c')).toBe('"a\\009b\\194\\133c"');
  });

  it('is never split within an escape', () => {
    expect(splitString(`${'x'.repeat(254)}\\200\\"y`)).toEqual([`${'x'.repeat(254)}\\200`, '\\"y']);
    expect(splitString(`${'x'.repeat(254)}üy`)).toEqual(['x'.repeat(254), 'üy']);
  });
});

describe('the value of a TXT record', () => {
  it('is quoted unless it is already', () => {
    expect(textValue('v=spf1 -all')).toBe('"v=spf1 -all"');
    expect(textValue('a "b" \\c')).toBe('"a \\"b\\" \\\\c"');
    expect(textValue('"a" "b"')).toBe('"a" "b"');
  });
});
