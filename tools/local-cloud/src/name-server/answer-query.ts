import packet, { type Answer, type DecodedPacket, type Question } from 'dns-packet';
import { isRecordValue, parseCharacterStrings } from '../dns/record-values.js';
import { absoluteName, resolve, type ServedRrset, type ServedZone } from './resolve.js';

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
type Rcode = keyof typeof rcodes;

const HEADER_BYTES = 12;
/** EDNS, which would allow more, is ignored. */
const UDP_BYTES_MAX = 512;
const OPCODE_AND_RD = 0x7900;

/**
 * Answers one DNS message. Pure apart from reading zones. Never throws, whatever the input.
 *
 * @returns the message to send, or null if no answer may be sent (incomplete header, or the message is a response)
 */
export function answerQuery(
  message: Buffer,
  transport: 'udp' | 'tcp',
  findZone: (name: string) => ServedZone | null,
): Buffer | null {
  if (message.length < HEADER_BYTES || isAnswer(message)) return null;
  let query: DecodedPacket;
  try {
    query = packet.decode(message);
  } catch {
    return headerOnly(message, 'FORMERR');
  }
  try {
    const [question, ...more] = query.questions ?? [];
    if (question === undefined || more.length > 0) return headerOnly(message, 'FORMERR');
    const { rcode, authoritative, answers, authorities } = resolve(question, findZone);
    const flags = rcodes[rcode] | (authoritative ? packet.AUTHORITATIVE_ANSWER : 0);
    const whole = encode(message, question, flags, [answers, authorities]);
    if (transport === 'tcp' || whole.length <= UDP_BYTES_MAX) return whole;
    return encode(message, question, flags | packet.TRUNCATED_RESPONSE, [[], []]);
  } catch {
    return headerOnly(message, 'SERVFAIL');
  }
}

type Sections = readonly [answers: readonly ServedRrset[], authorities: readonly ServedRrset[]];

function encode(message: Buffer, question: Question, flags: number, [answers, authorities]: Sections): Buffer {
  return packet.encode({
    type: 'response',
    id: message.readUInt16BE(0),
    flags: (message.readUInt16BE(2) & OPCODE_AND_RD) | flags,
    questions: [question],
    answers: answers.flatMap(recordsOf),
    authorities: authorities.flatMap(recordsOf),
  });
}

/** One record per value, none for a type that is not served. @throws Error for a value that was forced into the zone */
function recordsOf({ owner, ttl, rrset, zoneName }: ServedRrset): Answer[] {
  const render = renders[rrset.type];
  if (render === undefined) return [];
  return rrset.records.map(({ value }) => {
    if (!isRecordValue(rrset.type, value)) throw new Error('The value is not of its type.');
    const data = render(value, (name) => absoluteName(name, zoneName));
    return { type: rrset.type, name: owner, class: 'IN', ttl, data } as Answer;
  });
}

type Render = (value: string, host: (name: string) => string) => unknown;

const renders: Readonly<Record<string, Render>> = {
  A: (value) => value,
  AAAA: (value) => value,
  CNAME: (value, host) => host(value),
  NS: (value, host) => host(value),
  TXT: (value) => parseCharacterStrings(value),
  SOA(value, host) {
    const [mname = '.', rname = '.', ...numbers] = value.split(' ');
    const [serial, refresh, retry, expire, minimum] = numbers.map(Number);
    return { mname: host(mname), rname: host(rname), serial, refresh, retry, expire, minimum };
  },
};

function headerOnly(message: Buffer, rcode: Rcode): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8000 | (message.readUInt16BE(2) & OPCODE_AND_RD) | rcodes[rcode], 2);
  return header;
}

const isAnswer = (message: Buffer): boolean => (message.readUInt16BE(2) & 0x8000) !== 0;
