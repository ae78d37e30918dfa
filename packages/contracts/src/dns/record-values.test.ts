import { isIPv4, isIPv6 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quotedText, splitString, ttlRefusal, valueRefusal } from './record-values.js';

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
    ['A', /is no IPv4 address\.$/, ['', '192.0.2.300', '192.0.2', '192.0.2.1 ', '192.0.2.01', '192.0.2.0/24', '::1']],
    [
      'AAAA',
      /is no IPv6 address\.$/,
      ['', '192.0.2.1', '2001:db8::g', 'fe80::1%eth0', '2001:db8::/32', '2001:db8:::1'],
    ],
    ['CNAME', /^müll\.example\.org\. is no name\. .* xn-- form\.$/, ['müll.example.org.']],
    ['CNAME', /is no name/, ['', 'a b', 'a..b', '..', `${'x'.repeat(64)}.net.`, 'x.'.repeat(130), 'a.*.b']],
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
