import { describe, expect, it } from '@jest/globals';
import packet, { type DecodedPacket, type OptAnswer, type Packet } from 'dns-packet';
import fc from 'fast-check';
import { answerQuery } from '../src/name-server/answer-query.js';
import { aZone, onlyZone } from './a-zone.js';

const zone = aZone({
  'a A': ['192.0.2.1', '192.0.2.2'],
  'a AAAA': ['2001:db8::1'],
  'a TXT': ['"one" "two"', '"say \\"hi\\""'],
  'big TXT': Array.from({ length: 10 }, (_, index) => `"${String(index).repeat(200)}"`),
  'bad A': ['not an address'],
});

const ask = (query: Packet, transport: 'udp' | 'tcp' = 'tcp'): DecodedPacket & { rcode?: string } => {
  const answer = answerQuery(packet.encode({ type: 'query', id: 7, ...query }), transport, onlyZone(zone));
  if (answer === null) throw new Error('not answered');
  return packet.decode(answer);
};

const question = (name: string, type: string) => ({ questions: [{ name, type }] }) as Packet;

const opt = (udpPayloadSize: number, ednsVersion = 0): OptAnswer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion,
  flags: 0,
  flag_do: false,
  options: [],
});

describe('DNS messages', () => {
  it.each<[string, unknown[]]>([
    ['A', ['192.0.2.1', '192.0.2.2']],
    ['AAAA', ['2001:db8::1']],
    ['TXT', [[Buffer.from('one'), Buffer.from('two')], [Buffer.from('say "hi"')]]],
  ])('carry %s records', (type, data) => {
    const answer = ask(question('a.example.net', type));

    expect(answer).toMatchObject({ id: 7, rcode: 'NOERROR', flag_qr: true, flag_aa: true });
    expect(answer.answers?.map((record) => 'data' in record && record.data)).toEqual(data);
  });

  it('carry the SOA in the authority section of a negative answer', () => {
    const answer = ask(question('gone.example.net', 'A'));

    expect(answer).toMatchObject({ rcode: 'NXDOMAIN', flag_aa: true, answers: [] });
    expect(answer.authorities).toMatchObject([
      { type: 'SOA', name: 'example.net', data: { serial: 2026010100, minimum: 300 } },
    ]);
  });

  it.each<[string, Packet, 'udp' | 'tcp', boolean]>([
    ['of plain UDP', {}, 'udp', true],
    ['of TCP', {}, 'tcp', false],
  ])('are truncated to the limit %s', (_case, extra, transport, truncated) => {
    const answer = ask({ ...question('big.example.net', 'TXT'), ...extra }, transport);

    expect(answer.flag_tc).toBe(truncated);
    expect(answer.answers).toHaveLength(truncated ? 0 : 10);
  });

  it.each<[string, Packet, string]>([
    ['another zone', question('example.org', 'A'), 'REFUSED'],
    ['another class', { questions: [{ name: 'version.bind', type: 'TXT', class: 'CH' }] }, 'REFUSED'],
    ['no question', {}, 'FORMERR'],
    [
      'two questions',
      {
        questions: [
          { name: 'a.example.net', type: 'A' },
          { name: 'b.example.net', type: 'A' },
        ],
      },
      'FORMERR',
    ],
    ['a set that cannot be encoded', question('bad.example.net', 'A'), 'SERVFAIL'],
  ])('about %s are refused', (_case, query, rcode) => {
    expect(ask(query).rcode).toBe(rcode);
  });

  it('are not answered when they are responses', () => {
    const message = packet.encode({ type: 'response', id: 1, ...question('a.example.net', 'A') });

    expect(answerQuery(message, 'udp', onlyZone(zone))).toBeNull();
  });

  it('never cause an exception, whatever their bytes', () => {
    const valid = packet.encode({ type: 'query', id: 1, ...question('a.example.net', 'A'), additionals: [opt(4096)] });
    const damaged = fc.tuple(fc.nat(valid.length - 1), fc.nat(255), fc.nat(valid.length)).map(([at, byte, length]) => {
      const copy = Buffer.from(valid);
      copy[at] = byte;
      return copy.subarray(0, length);
    });
    const garbage = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));

    fc.assert(
      fc.property(fc.oneof(damaged, garbage), (message) => {
        const answer = answerQuery(message, 'udp', onlyZone(zone));

        expect(answer === null || answer.length >= 12).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
