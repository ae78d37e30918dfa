import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeZoneFile, parseZoneFile, zoneFileLimits } from '../src/dns/zone-file/parse-zone-file.js';
import { writeZoneFile } from '../src/dns/zone-file/write-zone-file.js';

const zone = { zoneName: 'example.test', zoneTtl: 3_600 };
const parse = (text: string) => parseZoneFile(text, zone);
/** `name type ttl value | value` of each set. */
const setsOf = (text: string): string[] =>
  parse(text).rrsets.map(
    ({ name, type, ttl, records }) => `${name} ${type} ${ttl} ${records.map(({ value }) => value).join(' | ')}`,
  );
const problemsOf = (text: string): string[] => parse(text).problems.map(({ line, message }) => `${line}: ${message}`);

describe('a zone file', () => {
  it.each<[what: string, text: string, sets: string[]]>([
    ['class before TTL', 'w.acme IN 300 A 192.0.2.1', ['w.acme A 300 192.0.2.1']],
    ['TTL before class', 'w.acme 300 in a 192.0.2.1', ['w.acme A 300 192.0.2.1']],
    ['a TTL with units', 'w.acme 1h30m A 192.0.2.1', ['w.acme A 5400 192.0.2.1']],
    [
      '$TTL, for records without their own',
      '$TTL 1D\nw.acme A 192.0.2.1\nx.acme 60 A 192.0.2.2\ny.acme A 192.0.2.3',
      ['w.acme A 86400 192.0.2.1', 'x.acme A 60 192.0.2.2', 'y.acme A 86400 192.0.2.3'],
    ],
    ['a $TTL that is the default of the zone', '$TTL 3600\nw.acme A 192.0.2.1', ['w.acme A null 192.0.2.1']],
    ['the zone itself', '@ TXT "x"\nexample.test. A 192.0.2.1', ['@ TXT null "x"', '@ A null 192.0.2.1']],
    [
      'a relative $ORIGIN, below the one before',
      '$ORIGIN acme\n$ORIGIN eu\nw A 192.0.2.1\n@ A 192.0.2.2',
      ['w.eu.acme A null 192.0.2.1', 'eu.acme A null 192.0.2.2'],
    ],
    ['the root as $ORIGIN', '$ORIGIN .\nw.acme.example.test A 192.0.2.1', ['w.acme A null 192.0.2.1']],
    [
      'lines that continue a name',
      'w.acme A 192.0.2.1\n  A 192.0.2.2\n\tTXT "x"',
      ['w.acme A null 192.0.2.1 | 192.0.2.2', 'w.acme TXT null "x"'],
    ],
    [
      'names that look like classes and TTLs',
      'in A 192.0.2.1\n300 A 192.0.2.2',
      ['in A null 192.0.2.1', '300 A null 192.0.2.2'],
    ],
    [
      'parentheses over several lines',
      'w.acme TXT ( "one" ; first\n  "two"\n  "three" )',
      ['w.acme TXT null "one" "two" "three"'],
    ],
    [
      'semicolons and parentheses in quotes',
      'w.acme TXT "v=DMARC1; p=none (x" "a\\"b\\;c"',
      ['w.acme TXT null "v=DMARC1; p=none (x" "a\\"b\\;c"'],
    ],
    ['a tab in a TXT string', 'w.acme TXT "a\tb"', ['w.acme TXT null "a\\009b"']],
    [
      'targets as they stand, below the origin of the zone',
      'w.acme CNAME x.acme\nv.acme CNAME x.org.',
      ['w.acme CNAME null x.acme', 'v.acme CNAME null x.org.'],
    ],
    [
      'targets relative to another origin, as relative to the zone',
      '$ORIGIN acme\nw CNAME x\nm MX 10 mx\ns SRV 0 5 443 @',
      ['w.acme CNAME null x.acme', 'm.acme MX null 10 mx.acme', 's.acme SRV null 0 5 443 acme'],
    ],
    [
      'targets outside of the zone, relative to a foreign origin',
      'w.acme A 192.0.2.1\n$ORIGIN org.\nw.acme.example.test. CNAME x',
      ['w.acme A null 192.0.2.1', 'w.acme CNAME null x.org.'],
    ],
    [
      'Windows line ends, old Mac line ends and a byte order mark',
      '\uFEFFw.acme A 192.0.2.1\r\nx.acme A 192.0.2.2\ry.acme A 192.0.2.3',
      ['w.acme A null 192.0.2.1', 'x.acme A null 192.0.2.2', 'y.acme A null 192.0.2.3'],
    ],
    [
      'types that the API does not write',
      '@ SOA ns hostmaster ( 1 2 3 4 5 )\n@ CAA 0 issue "ca.test; x=1"\nw TYPE65280 x',
      ['@ SOA null ns hostmaster 1 2 3 4 5', '@ CAA null 0 issue "ca.test; x=1"', 'w TYPE65280 null x'],
    ],
    ['values that stand twice, once', 'w.acme A 192.0.2.1\nw.acme A 192.0.2.1', ['w.acme A null 192.0.2.1']],
  ])('is read with %s', (_what, text, sets) => {
    expect(problemsOf(text)).toEqual([]);
    expect(setsOf(text)).toEqual(sets);
  });

  it.each<[what: string, text: string, problem: string]>([
    ['a quote that is not closed', 'ok A 192.0.2.1\nw TXT "x', '2: A quote is not closed.'],
    ['a parenthesis that is not closed', 'w TXT "a"\nw TXT (\n "x"\n', '2: A parenthesis is not closed.'],
    ['a backslash at the end', 'w TXT x\\', '1: A backslash at the end of the line escapes nothing.'],
    ['$INCLUDE', '$INCLUDE other.zone', '1: $INCLUDE is not supported. Write the records themselves.'],
    ['$TTL without a time', '$TTL soon', '1: $TTL needs a time such as 3600 or 1h.'],
    ['another class', 'w CH TXT "x"', '1: The class CH is not supported. Use IN.'],
    ['a TTL that is none', 'w 3x A 192.0.2.1', '1: 3x is not a TTL. Write seconds, or a time such as 1h30m.'],
    ['an unknown type', 'w IN B 192.0.2.1', '1: B is not a record type.'],
    ['a line without a record', 'w 300 IN', '1: The line has a name but no record.'],
    ['generic values', 'w A \\# 4 C0000201', '1: Values in the form of RFC 3597 (\\#) are not supported.'],
    [
      'a continued name at the beginning',
      ' A 192.0.2.1',
      '1: The line begins with a space, so it continues the name above, but there is none.',
    ],
    [
      'a name in another zone',
      'w.org. A 192.0.2.1',
      '1: w.org. is not in the zone example.test. Names without a final dot are below example.test.',
    ],
  ])('names the line of %s', (_what, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  it('is read on after a line with a problem', () => {
    const text = 'a.acme A 192.0.2.1\nb.acme TXT "x\nc.acme A 192.0.2.3\nd.acme NOPE x\ne.acme A 192.0.2.5';

    expect(setsOf(text)).toEqual(['a.acme A null 192.0.2.1', 'c.acme A null 192.0.2.3', 'e.acme A null 192.0.2.5']);
    expect(parse(text).problems.map(({ line }) => line)).toEqual([2, 4]);
  });

  it('splits TXT strings of more than 255 bytes, counts escapes as DNS does, and says so', () => {
    const fits = `"${'\\200'.repeat(255)}"`;
    expect(parse(`w TXT ${fits}`)).toMatchObject({ rrsets: [{ records: [{ value: fits }] }], notes: [] });
    expect(parse(`w TXT "${'é'.repeat(128)}" "x"`)).toMatchObject({
      rrsets: [{ records: [{ value: `"${'é'.repeat(127)}" "é" "x"` }] }],
      problems: [],
      notes: [
        { line: 1, message: 'A string of more than 255 bytes is split: TXT records cannot contain longer ones.' },
      ],
    });
  });

  it('reads the TTL 1 of Cloudflare as the default, and says so once', () => {
    const { rrsets, notes } = parse(
      'a.acme 1 IN A 192.0.2.1\nb.acme 60 IN A 192.0.2.2\nc.acme 1 IN TXT "x"\n@ 1 IN MX 10 mx',
    );

    expect(rrsets.map(({ ttl }) => ttl)).toEqual([null, 60, null, null]);
    expect(notes).toEqual([{ line: 1, message: 'TTL 1 means automatic: 2 records get the default of the zone.' }]);
  });

  it.each([
    ['cf_tags=cf-proxied:true', null],
    ['the web cf_tags=cf-proxied:false,a:b c', 'the web'],
    ['about cf_tags', 'about cf_tags'],
  ])('reads the comment `%s` without the tags of the provider', (comment, kept) => {
    expect(parse(`w A 192.0.2.1 ; ${comment}`).rrsets[0]?.records).toMatchObject([{ comment: kept }]);
  });

  it('notes no difference between the TTL of the zone and the same number', () => {
    const { rrsets, notes } = parse('$TTL 3600\nw A 192.0.2.1\nw 3600 A 192.0.2.2\nw 1 A 192.0.2.3');

    expect(rrsets).toMatchObject([{ ttl: null, records: { length: 3 } }]);
    expect(notes).toEqual([{ line: 4, message: 'TTL 1 means automatic: A record gets the default of the zone.' }]);
  });

  it('notes nothing about records that the API does not write', () => {
    const text = '@ 60 SOA ns h ( 1 2 3 4 5 )\n@ 90 NS ns1\n@ 60 NS ns1\n@ 60 SOA ns h ( 1 2 3 4 5 )';

    expect(parse(text).notes).toEqual([]);
  });

  it.each<[what: string, text: string, unread: string[] | null]>([
    ['a quote that is not closed', 'a.acme A 192.0.2.1\nb.acme TXT "x', ['b.acme']],
    ['the line that continues it', 'a.acme A 192.0.2.1\nb.acme TXT "x\n  NOPE', ['b.acme']],
    ['a type that is none, by an absolute name', 'B.acme.example.test. NOPE x', ['b.acme']],
    ['a name in another zone', 'b.org. A 192.0.2.1', []],
    ['a parenthesis that is not closed', 'a.acme TXT (\nb.acme A 192.0.2.1', null],
    ['a line without a name that can be read', '"x A 192.0.2.1', null],
    ['$INCLUDE', '$INCLUDE other.zone', null],
    ['$GENERATE', '$GENERATE 1-9 w$ A 192.0.2.$', null],
    ['more characters than are read', 'x'.repeat(zoneFileLimits.characters + 1), null],
    ['no problem', 'a.acme A 192.0.2.1', []],
  ])('says which names may be on lines that cannot be read: %s', (_what, text, unread) => {
    const { unreadNames } = parse(text);

    expect(unreadNames && [...unreadNames]).toEqual(unread);
  });

  it('does not give the lines below a broken one to the name above it', () => {
    expect(setsOf('a.acme A 192.0.2.1\nb.acme TXT "x\n  A 192.0.2.2')).toEqual([
      'a.acme A null 192.0.2.1',
      'b.acme A null 192.0.2.2',
    ]);
    expect(problemsOf('a.acme A 192.0.2.1\n"b.acme TXT x\n  A 192.0.2.2')).toHaveLength(2);
  });

  it.each<[what: string, text: string, isRelative: boolean]>([
    ['relative names', '@ A 192.0.2.1\nw A 192.0.2.1', true],
    ['names below a relative $ORIGIN', '$ORIGIN acme\nw A 192.0.2.1', true],
    ['an absolute name', 'w A 192.0.2.1\nw.acme.example.test. A 192.0.2.1', false],
    ['an absolute $ORIGIN', '$ORIGIN example.test.\nw A 192.0.2.1', false],
    ['no name', '; empty', false],
  ])('says whether all depends on the origin: %s', (_what, text, isRelative) => {
    expect(parse(text).isRelative).toBe(isRelative);
  });

  it('puts names below the origin that is given, until it says another one', () => {
    const { rrsets } = parseZoneFile('w CNAME x\n@ A 192.0.2.1\n$ORIGIN example.test.\nv A 192.0.2.1', {
      ...zone,
      origin: 'Acme.example.test.',
    });

    expect(rrsets.map(({ name, records }) => [name, records[0]?.value])).toEqual([
      ['w.acme', 'x.acme'],
      ['acme', '192.0.2.1'],
      ['v', '192.0.2.1'],
    ]);
  });

  it('keeps the comments of records, and says that others are lost', () => {
    const { rrsets, notes } = parse(
      '; head\n;\nw.acme A 192.0.2.1 ; web one\nw.acme TXT ( "a" ; first\n "b" ) ; second\n; tail',
    );

    expect(rrsets.flatMap(({ records }) => records.map(({ comment }) => comment))).toEqual(['web one', 'first second']);
    expect(notes).toEqual([{ line: 1, message: '2 comment lines that stand alone are not kept.' }]);
  });

  it('gives a record set the TTL of its first record, and says so', () => {
    const { rrsets, notes } = parse('w.acme 60 A 192.0.2.1\nw.acme 90 A 192.0.2.2');

    expect(rrsets).toMatchObject([{ ttl: 60, records: [{ line: 1 }, { line: 2 }] }]);
    expect(notes).toEqual([{ line: 2, message: 'TTL 60 of line 1 is used instead of 90: a record set has one TTL.' }]);
  });

  it('has bounds for its length, its records and the problems that are listed', () => {
    expect(parse('x'.repeat(zoneFileLimits.characters + 1))).toMatchObject({ rrsets: [], problems: [{ line: 1 }] });
    const lines = (count: number, line: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => line(n)).join('\n');
    const many = parse(lines(zoneFileLimits.records + 5, (n) => `n${n} A 192.0.2.1`));
    expect(many.rrsets).toHaveLength(zoneFileLimits.records);
    expect(many.problems).toHaveLength(1);
    expect(parse(lines(150, () => 'w NOPE'))).toMatchObject({ problems: { length: 100 }, unlisted: 50 });
  });

  it('never throws, whatever the text is', () => {
    const pieces = [...'w.@"\\();\n\r Aé\0\u2028', '$ORIGIN', '$TTL', 'TXT', 'IN', '300'];
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom(...pieces)).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(text, (each) => {
        const { rrsets, problems } = parse(each);
        const lines = each.split(/\r\n|\r|\n/).length;
        const named = [...problems, ...rrsets.flatMap(({ records }) => records)];
        expect(named.every(({ line }) => line >= 1 && line <= lines)).toBe(true);
        expect(rrsets.every(({ records }) => records.length > 0)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the bytes of a zone file', () => {
  const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding);

  it('are read as UTF-8, or as the encoding that is named', () => {
    expect(decodeZoneFile(bytes('\uFEFFw TXT "é"', 'utf8'))).toBe('w TXT "é"');
    expect(decodeZoneFile(bytes('w TXT "é"', 'latin1'), 'latin1')).toBe('w TXT "é"');
    expect(decodeZoneFile(bytes('\uFEFFw TXT "é"', 'utf16le'), 'utf-16le')).toBe('w TXT "é"');
    expect(() => decodeZoneFile(bytes('', 'utf8'), 'nope')).toThrow(expect.objectContaining({ name: 'RangeError' }));
  });

  it.each<[what: string, text: string, encoding: BufferEncoding, line: number]>([
    ['Latin-1', 'a A 192.0.2.1\r\nb TXT "caf\u00e9"\r\n', 'latin1', 2],
    ['Latin-1 with old Mac line ends', 'a A 192.0.2.1\rb A 192.0.2.2\rc TXT "\u00fc"', 'latin1', 3],
    ['UTF-16', '\uFEFFa A 192.0.2.1', 'utf16le', 1],
  ])('are refused with their line if they are %s', (_what, text, encoding, line) => {
    expect(decodeZoneFile(bytes(text, encoding))).toEqual({ line });
  });
});

describe('a written zone file', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,8}$/);
  const name = fc.oneof(
    fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.')),
    label.map((each) => `*.${each}`),
    fc.constant('@'),
  );
  const text = fc.string({ unit: fc.constantFrom(...'abc ;()"\\äß.='), maxLength: 20 });
  const quotedText = text.map((each) => `"${each.replace(/["\\]/g, '\\$&')}"`);
  const values = {
    A: fc.ipV4(),
    AAAA: fc.ipV6(),
    CNAME: fc.constantFrom('@', 'web.acme', 'example.org.', '.'),
    TXT: fc.array(quotedText, { minLength: 1, maxLength: 3 }).map((strings) => strings.join(' ')),
    CAA: quotedText.map((each) => `0 issue ${each}`),
  };
  const comment = fc.option(text.map((each) => each.replace(/\s+/g, ' ').trim()).filter((each) => each !== ''));
  const rrset = fc.constantFrom(...(Object.keys(values) as (keyof typeof values)[])).chain((type) =>
    fc.record({
      name,
      type: fc.constant(type as string),
      ttl: fc.option(fc.integer({ min: 2, max: 2_147_483_647 })),
      records: fc.uniqueArray(fc.record({ value: values[type], comment }), {
        minLength: 1,
        maxLength: 4,
        selector: ({ value }) => value,
      }),
    }),
  );
  const rrsets = fc.uniqueArray(rrset, { maxLength: 12, selector: ({ name: each, type }) => `${each} ${type}` });

  it('is read as the same record sets', () => {
    fc.assert(
      fc.property(rrsets, (sets) => {
        const read = parse(writeZoneFile(sets, zone));

        expect(read).toMatchObject({ problems: [], notes: [], unlisted: 0 });
        const withoutLines = read.rrsets.map(({ records, ...set }) => ({
          ...set,
          records: records.map(({ line: _, ...record }) => record),
        }));
        expect(withoutLines).toEqual(sets);
      }),
      { numRuns: 200 },
    );
  });

  it('has columns that people can read', () => {
    const text = writeZoneFile(
      [
        {
          name: 'www.acme',
          type: 'A',
          ttl: 300,
          records: [{ value: '192.0.2.7', comment: 'web\none' }, { value: '192.0.2.8' }],
        },
        { name: 'acme', type: 'TXT', ttl: null, records: [{ value: '"x; y"', comment: null }] },
      ],
      zone,
    );

    expect(text.split('\n')).toEqual([
      '$ORIGIN example.test.',
      '$TTL 3600',
      'www.acme 300 IN A   192.0.2.7 ; web one',
      'www.acme 300 IN A   192.0.2.8',
      'acme         IN TXT "x; y"',
      '',
    ]);
  });
});
