import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RrsetType } from './model.js';
import { isRecordValue, parseCharacterStrings } from './record-values.js';

const long = (bytes: number): string => `"${'x'.repeat(bytes)}"`;

const accepted: [RrsetType, string[]][] = [
  ['A', ['192.0.2.1', '0.0.0.0', '255.255.255.255']],
  ['AAAA', ['2001:db8::1', '2001:DB8:0:0:0:0:0:1', '::', '::ffff:192.0.2.1']],
  ['CNAME', ['mail', 'mail.example.net.', '@', 'MAIL', '_x._y', '*.dev']],
  [
    'TXT',
    ['"a"', '""', '"a" "b"', '"say \\"hi\\""', '"\\\\"', '"\\065"', '"ä"', long(255), `${long(255)} ${long(255)}`],
  ],
  ['NS', ['ns1', 'ns1.example.net.']],
];

const refused: [RrsetType, string[]][] = [
  ['A', ['', '192.0.2.300', '192.0.2', '192.0.2.1 ', '2001:db8::1', '192.0.2.01']],
  ['AAAA', ['', '192.0.2.1', '2001:db8::g', 'fe80::1%eth0', '2001:db8:::1']],
  ['CNAME', ['', 'a b', 'a..b', '..', 'mäil', `${'x'.repeat(64)}.net.`, `${'x.'.repeat(130)}`]],
  [
    'TXT',
    [
      '',
      'unquoted',
      '"open',
      '"a" b',
      '"a"  "b"',
      '"a""b"',
      '"a" ',
      long(256),
      `"${'ä'.repeat(128)}"`,
      '"\\999"',
      '"a\nb"',
    ],
  ],
  ['NS', ['', 'ns 1']],
];

describe('record values', () => {
  it.each(accepted)('of type %s are accepted in zone-file form', (type, values) => {
    const wrong = values.filter((value) => !isRecordValue(type, value));

    expect(wrong).toEqual([]);
  });

  it.each(refused)('of type %s are refused in any other form', (type, values) => {
    const wrong = values.filter((value) => isRecordValue(type, value));

    expect(wrong).toEqual([]);
  });
});

const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;

const chunk = fc.string({ unit: 'grapheme-ascii', maxLength: 255 });

describe('parseCharacterStrings', () => {
  it('restores any text that was quoted and escaped', () => {
    fc.assert(
      fc.property(fc.array(chunk, { minLength: 1, maxLength: 4 }), (chunks) => {
        const parsed = parseCharacterStrings(chunks.map(quote).join(' '));

        expect(parsed?.map(String)).toEqual(chunks);
      }),
    );
  });

  it.each([
    ['"\\065\\010"', [0x41, 0x0a]],
    ['"\\""', [0x22]],
    ['"\\a"', [0x61]],
    ['"\\1"', [0x31]],
  ])('unescapes %s', (text, bytes) => {
    const parsed = parseCharacterStrings(text);

    expect(parsed).toEqual([Buffer.from(bytes)]);
  });
});
