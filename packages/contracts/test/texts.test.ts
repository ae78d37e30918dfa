import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseConnectionPost, parseConnectionPut } from '../src/cluster/clusters/requests.js';
import { parseDnsTokenPost } from '../src/cluster/dns/dns-token.js';
import { parseInvitationPost, parseTeamPut, readsAsForeignSlug } from '../src/cluster/people/team.js';
import { parseAdoptedServerPost } from '../src/cluster/servers/adopted-server.js';
import { parseCreateDemo } from '../src/dns/requests.js';
import { placeOf } from '../src/field-messages.js';
import { parseNumber } from '../src/ids.js';
import { cutText, isShownName, shownNameOf, storableText, textRules } from '../src/text-rules.js';
import { parseTime } from '../src/time.js';
import { refusedFields } from './refused-fields.js';

const EMOJI = '\u{1f600}';

describe('a text that is cut', () => {
  it.each([
    ['stays as it is when its characters of two units fit', EMOJI.repeat(3), 3, '…', EMOJI.repeat(3)],
    ['ends between characters', `${'x'.repeat(254)}${EMOJI}y`, 255, '', `${'x'.repeat(254)}${EMOJI}`],
    ['ends with the given end', `abc${EMOJI}`, 3, '…', 'ab…'],
  ])('%s', (_what, text, max, end, kept) => {
    expect(cutText(text, max, end)).toBe(kept);
  });

  it('has as many characters as allowed, and no half of one', () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 40 });
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

  it.each([
    ['without control characters', 'a\0b\nc', ' ', 'a b c'],
    ['without halves of surrogate pairs', 'a\ud83dc\ude00', ' ', 'a c '],
    ['with a mark where a character was replaced', 'a\0b\nc\ud800d', '\ufffd', 'a\ufffdb\ufffdc\ufffdd'],
  ])('can be stored %s', (_what, text, replacement, kept) => {
    expect(storableText(text, 10, replacement)).toBe(kept);
  });
});

describe('a time', () => {
  it.each([
    ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.000Z'],
    ['2026-11-21T12:00:00.123456789Z', '2026-11-21T12:00:00.123Z'],
    ['2026-11-21T00:30:00+01:00', '2026-11-20T23:30:00.000Z'],
    ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ])('can be %s', (text, expected) => {
    expect(parseTime(text)?.toISOString()).toBe(expected);
  });

  it.each<[string, readonly string[]]>([
    ['in another form', ['', 'tomorrow', '1795262400', '2026-11-21', '2026-11-21T12:00Z', '2026-11-21T12:00:00']],
    ['written otherwise', ['2026-11-21 12:00:00Z', '2026-11-21T12:00:00z', '2026-11-21T12:00:00Z\n']],
    [
      'of no calendar',
      ['2026-02-29T00:00:00Z', '2026-04-31T00:00:00Z', '2026-11-00T00:00:00Z', '2026-00-10T00:00:00Z'],
    ],
    ['of no clock', ['2026-11-21T25:00:00Z', '2026-13-01T00:00:00Z', '2026-11-21T12:00:00+25:00']],
    ['before the year 1', ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01']],
    ['after the year 9999', ['9999-12-31T23:59:59-00:01', '+275760-09-13T00:00:00Z', '12026-11-21T12:00:00Z']],
    ['with a sign', ['+002026-11-21T12:00:00Z']],
  ])('cannot be %s', (_what, texts) => {
    expect(texts.filter((text) => parseTime(text) !== null)).toEqual([]);
  });
});

describe('a name that people read', () => {
  const spec = (more: object) => ({ spec: { provider: 'hcloud', token: 'x', ...more } });
  const server = { serverID: 1, serverType: 'cx22', location: 'hel1', architecture: 'amd64', serverKind: 'cloud' };

  it.each<[string, string, (body: unknown) => unknown, (name: string) => object]>([
    ['of a team', '/name', parseTeamPut, (name) => ({ name })],
    ['of a new connection', '/spec/name', parseConnectionPost, (name) => spec({ name })],
    ['of a connection', '/spec/name', parseConnectionPut, (name) => spec({ name })],
    ['of a DNS token', '/name', parseDnsTokenPost, (name) => ({ name })],
    ['of a demo', '/name', parseCreateDemo, (name) => ({ name })],
    [
      'of a server type',
      '/spec/serverType',
      parseAdoptedServerPost,
      (serverType) => ({ spec: { ...server, serverType } }),
    ],
    ['of a location', '/spec/location', parseAdoptedServerPost, (location) => ({ spec: { ...server, location } })],
  ])('%s keeps one rule', (_what, pointer, parse, bodyWith) => {
    expect(() => parse(bodyWith('Köln 2 — ok'))).not.toThrow();
    for (const name of ['a\u202eb', '\ufeff']) {
      expect(refusedFields(parse, bodyWith(name))).toMatchObject([{ pointer, message: textRules.shownName.must }]);
    }
  });

  it.each(['Rockets', ' x ', '火箭', '👩‍🚀 crew', '❤️‍🔥', 'می‌خواهم', 'क्‍ष', 'a'.repeat(100)])('may be %j', (name) => {
    expect(parseTeamPut({ name })).toEqual({ name });
  });

  // Controls, ends of lines, marks and overrides of direction, and characters without width.
  const hidden = [0, 7, 9, 10, 13, 0x85, 0xad, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202e, 0x2060, 0x2066, 0xfeff];
  const hiding = hidden.map((code) => `a${String.fromCodePoint(code)}b`);
  it.each<unknown>([...hiding, '', ' ', '\u00a0', '\u3164', 'aé\u200d', '\u200c火', 'a'.repeat(101), 1, null])(
    'cannot be %j',
    (name) => {
      expect(refusedFields(parseTeamPut, { name })).toMatchObject([{ pointer: '/name' }]);
    },
  );

  it('reads as the slug of another team when it looks like one', () => {
    const foreign = ['globex', 'globex-2', ' globex ', 'ｇｌｏｂｅｘ', 'glo\ufe0fbex'];
    const others = ['acme', 'Globex', 'the globex', 'globex.', 'глобекс'];

    expect([...foreign, ...others].filter((name) => readsAsForeignSlug(name, 'acme'))).toEqual(foreign);
  });
});

describe('a name from elsewhere', () => {
  it.each([
    ['is kept when people can read it', 'Ada  Lovelace ', 'Ada Lovelace'],
    ['loses what reverses text', '\u202eadA\u2066', 'adA'],
    ['loses what nobody sees', 'A\u200bd\u2060a', 'Ada'],
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

describe('the address of an invitation', () => {
  it.each([
    'ada@acme.test',
    'Ada.Lovelace+corral@Mail.Acme-Corp.example',
    "o'neil@acme.test",
    'x'.repeat(64).concat('@acme.test'),
  ])('may be %s', (email) => {
    expect(parseInvitationPost({ email })).toEqual({ email, role: 'member' });
  });

  it.each<[string, readonly string[]]>([
    ['without both parts', ['', 'ada', '@acme.test', 'ada@', 'ada@@acme.test']],
    ['in no domain', ['ada@localhost', 'ada@acme..test', 'ada@-acme.test', 'ada@acme.test.', 'ada@[127.0.0.1]']],
    ['of several people, or with a name', ['a@b,c@d', 'a@b;c@d', 'Ada <ada@acme.test>', '"a b"@acme.test']],
    ['with controls', ['ada@acme.test\n', 'a\r\n@b', 'a@b\0']],
    ['with letters beyond ASCII', ['ада@acme.test', 'ada@аcme.test']],
    ['that is too long', [`${'x'.repeat(65)}@a.test`, `a@${'b'.repeat(64)}.test`, `a@${'b.'.repeat(126)}test`]],
  ])('cannot be one %s', (_what, addresses) => {
    for (const email of addresses) {
      expect(refusedFields(parseInvitationPost, { email }).map(({ pointer }) => pointer)).toContain('/email');
    }
  });
});

describe('a number of the provider', () => {
  it('is a positive integer that JavaScript does not round', () => {
    const wrong = ['0', '01', '-1', '1.5', '1e3', '', '1 ', '1\0', 'web', '9007199254740992', '99999999999999999999'];

    expect(wrong.filter((text) => parseNumber(text) !== null)).toEqual([]);
    expect(parseNumber('4711')).toBe(4711);
    expect(parseNumber('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a place', () => {
  it.each([
    ['', ''],
    ['/name', 'name'],
    ['/spec/nodePools/0/machineType', 'spec.nodePools[0].machineType'],
    ['/records/12', 'records[12]'],
    ['/spec/a~1b~0c', 'spec.a/b~c'],
  ])('%j is %j in a sentence', (pointer, place) => {
    expect(placeOf(pointer)).toBe(place);
  });
});
