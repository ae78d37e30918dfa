import packet, { type Answer, type DecodedPacket, type OptAnswer, type Question } from 'dns-packet';
import { renderAnswers } from './answers.js';
import { resolve, type ServedRrset, type ServedZone } from './resolve.js';

const rcodes = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;
type Rcode = keyof typeof rcodes;

const HEADER_BYTES = 12;
const UDP_BYTES = 512;
const UDP_BYTES_MAX = 4096;
const TCP_BYTES_MAX = 65_535;
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
    return answerDecoded(message, query, transport, findZone);
  } catch {
    return headerOnly(message, 'SERVFAIL');
  }
}

function answerDecoded(
  message: Buffer,
  query: DecodedPacket,
  transport: 'udp' | 'tcp',
  findZone: (name: string) => ServedZone | null,
): Buffer {
  const [question, ...more] = query.questions ?? [];
  if (opcodeOf(message) !== 0) return headerOnly(message, 'NOTIMP');
  if (question === undefined || more.length > 0) return headerOnly(message, 'FORMERR');
  const opt = query.additionals?.find((record): record is OptAnswer => record.type === 'OPT');
  const bytesMax = transport === 'tcp' ? TCP_BYTES_MAX : udpBytes(opt);
  // dns-packet decodes names as UTF-8; a name with invalid UTF-8 cannot be encoded back.
  if (question.name.includes('\ufffd')) return headerOnly(message, 'REFUSED');
  const reply = answerOf(question, findZone);
  const whole = encode(message, question, opt, reply);
  if (whole.length <= bytesMax) return whole;
  return encode(message, question, opt, { rcode: reply.rcode, flags: reply.flags | packet.TRUNCATED_RESPONSE });
}

interface Reply {
  rcode: Rcode;
  flags: number;
  answers?: Answer[];
  authorities?: Answer[];
}

function answerOf(question: Question, findZone: (name: string) => ServedZone | null): Reply {
  const isTransfer = question.type === 'AXFR' || question.type === 'IXFR';
  if (isTransfer || (question.class !== 'IN' && question.class !== 'ANY')) return { rcode: 'REFUSED', flags: 0 };
  const found = resolve(question, findZone);
  return {
    rcode: found.rcode,
    flags: found.authoritative ? packet.AUTHORITATIVE_ANSWER : 0,
    answers: renderAll(found.answers),
    authorities: renderAll(found.authorities),
  };
}

const renderAll = (sets: readonly ServedRrset[]): Answer[] => sets.flatMap(renderAnswers);

function encode(message: Buffer, question: Question, opt: OptAnswer | undefined, reply: Reply): Buffer {
  const { rcode, flags, answers = [], authorities = [] } = reply;
  return packet.encode({
    type: 'response',
    id: message.readUInt16BE(0),
    flags: (message.readUInt16BE(2) & OPCODE_AND_RD) | flags | rcodes[rcode],
    questions: [question],
    answers,
    authorities,
    additionals: opt === undefined ? [] : [ownOpt(opt)],
  });
}

/** RFC 6891: an unsupported EDNS version is answered with BADVERS. Its upper bits are in this record. */
function ownOpt({ ednsVersion }: OptAnswer): Answer {
  const extendedRcode = ednsVersion > 0 ? 1 : 0;
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: UDP_BYTES_MAX,
    extendedRcode,
    ednsVersion: 0,
    flags: 0,
  } as const;
  return { ...opt, flag_do: false, options: [] };
}

const udpBytes = (opt: OptAnswer | undefined): number =>
  opt === undefined ? UDP_BYTES : Math.min(Math.max(opt.udpPayloadSize, UDP_BYTES), UDP_BYTES_MAX);

function headerOnly(message: Buffer, rcode: Rcode): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8000 | (message.readUInt16BE(2) & OPCODE_AND_RD) | rcodes[rcode], 2);
  return header;
}

const isAnswer = (message: Buffer): boolean => (message.readUInt16BE(2) & 0x8000) !== 0;

const opcodeOf = (message: Buffer): number => (message.readUInt16BE(2) >> 11) & 0xf;
