import { planChanges, type WantedSet } from '@corral/domain';
import { describe, expect, it } from '@jest/globals';
import { planText } from './plan-text.js';
import { quotedText } from './text-value.js';

const context = { zoneName: 'example.test', ownerLabel: 'acme', records: { used: 2, reserved: 0, limit: 10 } };
const records = (...values: string[]) => values.map((value) => ({ value, comment: null }));
const rrset = (name: string, type: string, value: string) => ({
  id: `${name}/${type}`,
  name,
  type,
  ttl: 300,
  labels: {},
  protection: { change: false },
  records: [{ value, comment: '' }],
  zone: 1,
});
const plain = (_style: unknown, text: string) => text;
const textOf = (wanted: WantedSet[]) =>
  planText(
    planChanges([rrset('www.acme', 'A', '192.0.2.1'), rrset('old.acme', 'A', '192.0.2.9')], wanted, context),
    plain,
  );

describe('a plan', () => {
  it('shows what is added, changed, removed and refused, and how much there is afterwards', () => {
    const text = textOf([
      {
        name: 'www.acme',
        type: 'A',
        content: { records: records('192.0.2.1', '192.0.2.2'), ttl: null, labels: { env: 'prod' } },
      },
      { name: 'api.acme', type: 'CNAME', content: { records: [{ value: 'www.acme', comment: 'why' }], ttl: 60 } },
      { name: 'old.acme', type: 'A', content: null },
      { name: 'www.globex', type: 'A', content: { records: records('192.0.2.3'), ttl: null }, source: 'line 4' },
    ]);

    expect(text).toBe(
      [
        '~ www.acme A',
        '    + 192.0.2.2',
        '    ttl 300 s → default',
        '    labels none → env=prod',
        '+ api.acme CNAME  ttl 60 s',
        '    + www.acme  ; why',
        '- old.acme A',
        '    - 192.0.2.9',
        '! www.globex A (line 4): The name does not belong to you. You can write acme and names below it.',
        '1 to add, 1 to change, 1 to remove, 1 refused. 3 records afterwards.',
        '',
      ].join('\n'),
    );
  });

  it('cannot move the cursor of a terminal', () => {
    const text = textOf([
      { name: 'x.acme', type: 'TXT', content: { records: records('"a\r\u0007b\u202e"'), ttl: null } },
    ]);

    expect(text).toContain('+ "a??b?"');
  });
});

describe('the value of a TXT record', () => {
  it('is quoted unless it is already', () => {
    expect(quotedText('v=spf1 -all')).toBe('"v=spf1 -all"');
    expect(quotedText('a "b" \\c')).toBe('"a \\"b\\" \\\\c"');
    expect(quotedText('"a" "b"')).toBe('"a" "b"');
  });

  it('is split into strings of at most 255 bytes, and never within a character', () => {
    const strings = quotedText('ü'.repeat(200)).split(' ');

    expect(strings.map((string) => Buffer.byteLength(string) - 2)).toEqual([254, 146]);
  });
});
