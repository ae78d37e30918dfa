import { createSocket } from 'node:dgram';
import packet, { type Answer, type Question } from 'dns-packet';
import { isRecordValue, parseCharacterStrings } from '../dns/record-values.js';
import { LOOPBACK } from '../listen.js';
import { absoluteName, resolve, type ServedRrset, type ServedZone } from './resolve.js';

export interface NameServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves the zones over UDP, answers of every length. Port 0 selects a free port. */
export async function startNameServer(
  port: number,
  findZone: (name: string) => ServedZone | null,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  socket.on('message', (message, sender) => {
    const answer = answerTo(message, findZone);
    // Ignore send errors: the client may be gone.
    if (answer !== null) socket.send(answer, sender.port, sender.address, () => {});
  });
  await new Promise<void>((listening, reject) => {
    socket.once('error', reject);
    socket.bind(port, LOOPBACK, listening);
  });
  socket.on('error', () => {});
  return { port: socket.address().port, close: () => new Promise((closed) => socket.close(() => closed())) };
}

const rcodes = { NOERROR: 0, NXDOMAIN: 3, REFUSED: 5 } as const;
const RECURSION_DESIRED = 0x100;

/** @returns null for what is no question, or about a value that cannot be sent */
function answerTo(message: Buffer, findZone: (name: string) => ServedZone | null): Buffer | null {
  try {
    const { id, type, questions: [question] = [] } = packet.decode(message);
    if (type !== 'query' || question === undefined) return null;
    const { rcode, answers, authorities } = resolve(question, findZone);
    const isOurs = rcode === 'REFUSED' ? 0 : packet.AUTHORITATIVE_ANSWER;
    return packet.encode({
      type: 'response',
      id: id ?? 0,
      flags: (message.readUInt16BE(2) & RECURSION_DESIRED) | rcodes[rcode] | isOurs,
      questions: [question as Question],
      answers: answers.flatMap(recordsOf),
      authorities: authorities.flatMap(recordsOf),
    });
  } catch {
    return null;
  }
}

/** One record per value, none for a type that is not served. */
function recordsOf({ owner, ttl, rrset, zoneName }: ServedRrset): Answer[] {
  const render = renders[rrset.type];
  if (render === undefined) return [];
  return rrset.records
    .filter(({ value }) => isRecordValue(rrset.type, value))
    .map(({ value }) => {
      const data = render(value, (name) => absoluteName(name, zoneName));
      return { type: rrset.type, name: owner, class: 'IN', ttl, data } as Answer;
    });
}

const renders: Readonly<Record<string, (value: string, host: (name: string) => string) => unknown>> = {
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
