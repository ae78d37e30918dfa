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
  ['MX', ['10 mail', '0 .', '65535 mail.example.net.', '10 @']],
  ['SRV', ['10 5 5060 sip', '0 0 0 .']],
  ['CAA', ['0 issue "ca.example"', '128 iodef "mailto:a@b.example"', '0 issue ";"', '0 issue ""']],
  ['NS', ['ns1', 'ns1.example.net.']],
  ['PTR', ['host.example.net.']],
  ['SOA', ['ns1.example.net. dns.example.net. 2026010100 86400 10800 3600000 3600']],
  ['DS', ['60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118']],
  ['TLSA', ['3 1 1 0123456789abcdef']],
  ['HINFO', ['"PC" "Linux"', 'PC Linux']],
  ['RP', ['admin.example.net. .']],
  ['HTTPS', ['1 . alpn=h2', '0 svc.example.net.']],
  ['SVCB', ['1 svc port=8443']],
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
  ['MX', ['mail', '10', '65536 mail', '-1 mail', '10  mail', '10 a b']],
  ['SRV', ['10 5 sip', '10 5 65536 sip', '10 5 5060']],
  ['CAA', ['0 issue ca.example', '256 issue "a"', 'issue "a"', '0 iss-ue "a"', '0 issue "a" "b"']],
  ['NS', ['', 'ns 1']],
  ['SOA', ['ns1. dns. 1 2 3 4', 'ns1. dns. 1 2 3 4 x', 'ns1. dns. 4294967296 2 3 4 5']],
  ['DS', ['60485 5 1 abc', '60485 5 1 zz']],
  ['TLSA', ['3 1 0123']],
  ['HTTPS', ['alpn=h2', '1']],
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
