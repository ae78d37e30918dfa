import { createSocket } from 'node:dgram';
import packet, { type Answer, type Question } from 'dns-packet';
import { parentName, type Rrset } from './dns/model.js';
import { isRecordValue, parseCharacterStrings } from './dns/record-values.js';
import type { HeldZone, Zones } from './dns/zones.js';
import { LOOPBACK } from './listen.js';

/** Serves the zones over UDP, answers of every length. Port 0 selects a free port. */
export async function startNameServer(port: number, zones: Zones) {
  const socket = createSocket('udp4');
  socket.on('message', (message, sender) => {
    const answer = answerTo(message, zones);
    // Ignore send errors: the client may be gone.
    if (answer !== null) socket.send(answer, sender.port, sender.address, () => {});
  });
  await new Promise<void>((listening, reject) => {
    socket.once('error', reject);
    socket.bind(port, LOOPBACK, listening);
  });
  socket.on('error', () => {});
  return { port: socket.address().port, close: () => new Promise<void>((closed) => socket.close(() => closed())) };
}

const rcodes = { NOERROR: 0, NXDOMAIN: 3, REFUSED: 5 } as const;
const RECURSION_DESIRED = 0x100;

/** @returns null for what is no question, or about a value that cannot be sent */
function answerTo(message: Buffer, zones: Zones): Buffer | null {
  try {
    const { id, type, questions: [question] = [] } = packet.decode(message);
    if (type !== 'query' || question === undefined) return null;
    const { rcode, answers, authorities } = resolve(question, zones);
    const isOurs = rcode === 'REFUSED' ? 0 : packet.AUTHORITATIVE_ANSWER;
    return packet.encode({
      type: 'response',
      id: id ?? 0,
      flags: (message.readUInt16BE(2) & RECURSION_DESIRED) | rcodes[rcode] | isOurs,
      questions: [question as Question],
      answers,
      authorities,
    });
  } catch {
    return null;
  }
}

interface Resolution {
  readonly rcode: keyof typeof rcodes;
  readonly answers: Answer[];
  /** The SOA of a negative answer. */
  readonly authorities: Answer[];
}

/**
 * Answers one question from the zones, following CNAMEs while they stay in the zone. Zones have no delegations.
 *
 * @see RFC 1034 section 4.3.2, RFC 4592 (wildcards), RFC 6604 (the code after a chain of CNAMEs)
 */
function resolve(question: { name: string; type: string }, zones: Zones): Resolution {
  const all = zones.served().filter(({ facts }) => isWithin(question.name, facts.name));
  const [zone] = all.sort((a, b) => b.facts.name.length - a.facts.name.length);
  if (zone === undefined) return { rcode: 'REFUSED', answers: [], authorities: [] };
  const answers: Answer[] = [];
  let owner = question.name;
  // A circle of CNAMEs ends where it began.
  while (isWithin(owner, zone.facts.name) && !answers.some(({ name }) => name === owner)) {
    const sets = findSets(zone, relativeName(owner.toLowerCase(), zone.facts.name));
    const found = sets?.find(({ type }) => type === question.type);
    const next = found ?? sets?.find(({ type }) => type === 'CNAME');
    if (next === undefined) {
      return { rcode: sets === null ? 'NXDOMAIN' : 'NOERROR', answers, authorities: negative(zone) };
    }
    answers.push(...recordsOf(zone, next, owner));
    if (found !== undefined) break;
    owner = absoluteName(next.records[0]?.value ?? '.', zone.facts.name);
  }
  return { rcode: 'NOERROR', answers, authorities: [] };
}

const isWithin = (name: string, zone: string): boolean => `.${name.toLowerCase()}`.endsWith(`.${zone}`);

/** The sets that answer for a name, from the name itself or a wildcard; null if the name does not exist. */
function findSets({ served }: HeldZone, name: string): Rrset[] | null {
  if (served.exists(name)) return served.at(name);
  // Only a wildcard directly below the closest existing ancestor applies (RFC 4592 section 3.3.1).
  let encloser = parentName(name) ?? '@';
  while (!served.exists(encloser)) encloser = parentName(encloser) ?? '@';
  const wildcard = encloser === '@' ? '*' : `*.${encloser}`;
  return served.exists(wildcard) ? served.at(wildcard) : null;
}

function negative(zone: HeldZone): Answer[] {
  const soa = zone.served.get('@', 'SOA');
  if (soa === null) return [];
  const minimum = Number(soa.records[0]?.value.split(' ').at(-1));
  return recordsOf(zone, { ...soa, ttl: Math.min(soa.ttl ?? zone.facts.ttl, minimum) }, zone.facts.name);
}

/** One record per value, none for a type that is not served. @param owner differs from the set's own name for a wildcard */
function recordsOf({ facts }: HeldZone, { type, ttl, records }: Rrset, owner: string): Answer[] {
  const render = renders[type];
  if (render === undefined) return [];
  return records
    .filter(({ value }) => isRecordValue(type, value))
    .map(({ value }) => {
      const data = render(value, (name) => absoluteName(name, facts.name));
      return { type, name: owner, class: 'IN', ttl: ttl ?? facts.ttl, data } as Answer;
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

/**
 * Expands a host name in a record value: a name without the final dot is relative to the zone, `@` is the zone itself.
 *
 * @returns the full name without the final dot; `.` for the root
 */
function absoluteName(name: string, zoneName: string): string {
  if (name === '@') return zoneName;
  if (name === '.') return '.';
  return name.endsWith('.') ? name.slice(0, -1) : `${name}.${zoneName}`;
}

const relativeName = (name: string, zoneName: string): string =>
  name === zoneName ? '@' : name.slice(0, -zoneName.length - 1);
